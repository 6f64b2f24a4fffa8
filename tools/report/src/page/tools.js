"use strict";
// What both pictures need: texts of numbers, and elements of a picture.
function tools(svg) {
  function bytes(count) {
    if (count < 1024) return `${count} B`;
    const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = -1;
    do { count /= 1024; unit += 1; } while (count >= 999.5 && unit < units.length - 1);
    return `${count.toFixed(count < 9.995 ? 2 : count < 99.95 ? 1 : 0)} ${units[unit]}`;
  }

  const number = (count) => count.toLocaleString("en-US");

  function element(name, attributes, parent, content) {
    // The name space of the element that is there, so that no address need be written here.
    const made = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (content !== undefined) made.textContent = content;
    if (parent) parent.append(made);
    return made;
  }

  return { bytes, number, element };
}
