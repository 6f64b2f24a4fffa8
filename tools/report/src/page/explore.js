"use strict";
// What is around the picture: colours, search, sorted tables, and the picture as a file.
(() => {
  const timeline = window.timeline;
  const svg = document.getElementById("chart");
  if (!timeline) return;
  const { bytes, number } = tools(svg);

  const legend = document.getElementById("colours");
  const choice = document.getElementById("colour-by");
  choice.addEventListener("change", () => {
    const { kinds, more } = timeline.colourBy(choice.value);
    const entry = (index, label) => {
      const made = document.createElement("li");
      const sample = document.createElement("i");
      sample.style.background = `var(--c${index})`;
      made.append(sample, short(label));
      made.title = label;
      return made;
    };
    // Of files by their names alone, unless two have one name; scopes have slashes, too, and keep them.
    const ends = kinds.map((kind) => kind.replace(/^.*\//, ""));
    const shorten = choice.value === "source" && new Set(ends).size === kinds.length;
    const short = (label) => (shorten ? label.replace(/^.*\//, "") : label);
    const last = more ? [entry(12, "others")] : [];
    legend.replaceChildren(...kinds.map((kind, index) => entry(index, kind)), ...last);
    look();
  });

  const words = document.getElementById("search"), hits = document.getElementById("hits");
  function look() {
    const { count, sum } = timeline.find(words.value);
    hits.textContent = words.value.trim() === "" ? "" : `${number(count)} values, ${bytes(sum)}`;
    const wanted = words.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    for (const row of document.querySelectorAll("table.values tbody tr")) {
      const has = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => has.includes(word));
    }
  }
  words.addEventListener("input", look);
  timeline.onProgram(look);
  document.getElementById("jump").addEventListener("click", timeline.jump);

  // A table is sorted by a column when its head is pressed, and the other way around when it is pressed again.
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.order === undefined ? cell.textContent.trim() : Number(cell.dataset.order);
  };
  for (const head of document.querySelectorAll("table.sorts thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const body = head.closest("table").tBodies[0], column = head.cellIndex;
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row, at) => ({ row, at, key: value(row, column) }));
      const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b));
      rows.sort((a, b) => (down ? -1 : 1) * compare(a.key, b.key) || a.at - b.at);
      body.append(...rows.map(({ row }) => row));
    });
  }

  // The picture as it is now, with all that the style sheet says of it, so that other programs show the same.
  const STYLED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity",
    "font-size", "font-family", "font-weight", "paint-order", "vector-effect", "visibility"];
  function picture() {
    const copy = svg.cloneNode(true);
    const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((element, at) => {
      const style = getComputedStyle(element);
      for (const name of STYLED) to[at].style.setProperty(name, style.getPropertyValue(name));
    });
    const box = svg.getBoundingClientRect();
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    copy.style.background = getComputedStyle(svg.closest("section")).backgroundColor;
    return new XMLSerializer().serializeToString(copy);
  }
  const save = document.getElementById("save");
  save.addEventListener("click", () => {
    const text = picture();
    save.dataset.saved = text.length;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = `${document.title.replace(/[^\w.-]+/g, "-")}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  timeline.picture = picture;
})();
