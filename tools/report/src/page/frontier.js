// A point of the frontier that is chosen shows its program, as its row in the table does.
(() => {
  const choices = [...document.querySelectorAll("#frontier .choice")];
  const radios = [...document.querySelectorAll('input[name="program"]')];
  const mark = () => {
    const shown = radios.find((radio) => radio.checked);
    choices.forEach((choice) => choice.classList.toggle("chosen", choice.dataset.program === shown?.value));
  };
  const choose = (choice) => {
    radios.find((radio) => radio.value === choice.dataset.program)?.click();
    mark();
  };
  choices.forEach((choice) => {
    choice.addEventListener("click", () => choose(choice));
    choice.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(choice);
    });
  });
  radios.forEach((radio) => radio.addEventListener("change", mark));
})();
