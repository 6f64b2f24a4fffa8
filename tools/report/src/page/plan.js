"use strict";
// The buffer plan: memory up, steps across.
(() => {
  const holder = document.getElementById("plan-data");
  const svg = document.getElementById("plan-chart");
  if (!holder || !svg) return;
  const { bytes, number, element } = tools(svg);
  const fail = (error) => { svg.dataset.state = "failed"; svg.dataset.error = String(error); };
  const { strings, regions, places, values, at, does, steps } = JSON.parse(holder.textContent);
  const tooltip = document.getElementById("plan-tooltip");
  const announce = document.getElementById("plan-announce");
  const MARGIN = { left: 76, right: 16, top: 14, bottom: 46 };
  const MOST_LINES = 8;
  const text = (index) => (index < 0 ? "" : strings[index]);
  const whole = Math.max(steps, 1);
  const arena = regions.find((region) => region.name === "arena" && region.bytes > 0);
  const total = Math.max(...regions.map((region) => region.start + region.bytes), 1);
  const view = { x0: 0, x1: whole, y0: 0, y1: total };
  let cursor = null, hovered = null, frame = { width: 0, height: 0, w: 1, h: 1 };

  const limit = (value, low, high) => Math.min(Math.max(value, low), high);
  const px = (step) => MARGIN.left + ((step - view.x0) / (view.x1 - view.x0)) * frame.w;
  const py = (offset) => MARGIN.top + (1 - (offset - view.y0) / (view.y1 - view.y0)) * frame.h;
  const stepAt = (x) => view.x0 + ((x - MARGIN.left) / frame.w) * (view.x1 - view.x0);
  const offsetAt = (y) => view.y0 + (1 - (y - MARGIN.top) / frame.h) * (view.y1 - view.y0);

  const layers = {};
  layers.grid = element("g", {}, svg);
  layers.boxes = element("g", {}, svg);
  layers.names = element("g", {}, svg);
  layers.cursor = element("line", { class: "cursor", visibility: "hidden" }, svg);

  // What takes more than one step ends with the last one, which it takes as well.
  const boxes = places.map(([offset, size, kind, from, to, first, count], index) => (
    { index, offset, size, kind, from, to: Math.min(to + 1, whole), last: to, first, count, path: null }));

  function nice(rough) {
    const power = 10 ** Math.floor(Math.log10(rough));
    const lead = rough / power;
    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  }

  function grid() {
    layers.grid.replaceChildren();
    const right = MARGIN.left + frame.w, bottom = MARGIN.top + frame.h;
    const shown = view.y1 - view.y0;
    // Offsets within the arena, or from the first byte of all.
    const base = arena && view.y0 >= arena.start ? arena.start : 0;
    const power = Math.max(0, Math.floor(Math.log(Math.max(shown, 1) / 2) / Math.log(1024)));
    const unit = 1024 ** power;
    const every = unit * nice(shown / unit / 6);
    for (let offset = Math.ceil((view.y0 - base) / every) * every; offset + base <= view.y1; offset += every) {
      const y = py(offset + base);
      element("line", { class: "grid", x1: MARGIN.left, x2: right, y1: y, y2: y }, layers.grid);
      const label = `${+(offset / unit).toPrecision(4)} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][power]}`;
      element("text", { x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" }, layers.grid, label);
    }
    const stride = Math.max(1, nice((view.x1 - view.x0) / 8));
    for (let step = Math.ceil(view.x0 / stride) * stride; step < view.x1; step += stride) {
      const x = px(step + 0.5);
      if (x > right) break;
      element("line", { class: "axis", x1: x, x2: x, y1: bottom, y2: bottom + 5 }, layers.grid);
      element("text", { x, y: bottom + 19, "text-anchor": "middle" }, layers.grid, number(step));
    }
    element("line", { class: "axis", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom }, layers.grid);
    element("text", { x: MARGIN.left + frame.w / 2, y: bottom + 37, "text-anchor": "middle" }, layers.grid, "step of the schedule");
  }

  function draw() {
    layers.boxes.replaceChildren();
    layers.names.replaceChildren();
    let named = 0;
    for (const box of boxes) {
      box.path = null;
      const x0 = Math.max(px(box.from), MARGIN.left), x1 = Math.min(px(box.to), MARGIN.left + frame.w);
      const y0 = Math.max(py(box.offset + box.size), MARGIN.top), y1 = Math.min(py(box.offset), MARGIN.top + frame.h);
      if (x1 <= x0 || y1 <= y0) continue;
      const kind = box.kind < 2 ? `k${box.kind}` : box.kind === 2 ? "rest" : `t${box.index % 6}`;
      const thin = y1 - y0 < 4 || x1 - x0 < 3 ? " thin" : "";
      const shape = { x: x0, y: y0, width: Math.max(x1 - x0, 0.5), height: Math.max(y1 - y0, 0.5) };
      box.path = element("rect", { ...shape, class: `band ${kind}${thin}` }, layers.boxes);
      box.path.dataset.place = box.index;
      if (named < 80 && y1 - y0 > 15 && x1 - x0 > 60) {
        const letters = Math.floor((x1 - x0 - 10) / 6.6);
        let label = `${text(values[box.first][0])}  ${bytes(box.size)}`;
        if (label.length > letters) label = bytes(box.size);
        if (label.length > letters) continue;
        element("text", { class: "name", x: (x0 + x1) / 2, y: (y0 + y1) / 2 + 4, "text-anchor": "middle" }, layers.names, label);
        named += 1;
      }
    }
    for (const region of regions) {
      const y = py(region.start + region.bytes);
      if (region.bytes === 0 || y < MARGIN.top || y > MARGIN.top + frame.h) continue;
      element("line", { class: "axis", x1: MARGIN.left, x2: MARGIN.left + frame.w, y1: y, y2: y }, layers.names);
    }
  }

  function render() {
    const box = svg.getBoundingClientRect();
    const width = Math.max(box.width || 0, 200), height = Math.max(box.height || 0, 160);
    frame = { width, height, w: width - MARGIN.left - MARGIN.right, h: height - MARGIN.top - MARGIN.bottom };
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    grid();
    draw();
    place();
    svg.dataset.view = [view.x0, view.x1, view.y0, view.y1].join(" ");
  }

  function place() {
    if (cursor === null) { layers.cursor.setAttribute("visibility", "hidden"); return; }
    const x = px(cursor + 0.5);
    const line = { x1: x, x2: x, y1: MARGIN.top, y2: MARGIN.top + frame.h, visibility: "visible" };
    for (const [key, value] of Object.entries(line)) layers.cursor.setAttribute(key, value);
  }

  function html(name, content, className) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (content !== undefined) made.textContent = content;
    return made;
  }

  const alive = (step) => boxes.filter((box) => box.from <= step && step <= box.last);
  function taken(step) {
    // Places may lie over each other: what is updated in place under another shape.
    let sum = 0, end = -1;
    for (const { offset, size } of alive(step).sort((a, b) => a.offset - b.offset)) {
      sum += Math.max(offset + size - Math.max(offset, end), 0);
      end = Math.max(end, offset + size);
    }
    return sum;
  }
  function stepName(step) {
    const found = at.findIndex((known) => known === step);
    return found < 0 ? "" : `, ${text(does[found])}`;
  }

  function describe(box) {
    const lines = [];
    if (box) {
      const region = regions.find((region) => box.offset >= region.start && box.offset < region.start + region.bytes);
      const where = region && region.name === "arena" ? `byte ${number(box.offset - region.start)} of the arena` : text(values[box.first][2]);
      lines.push([html("strong", text(values[box.first][0])), `  ${bytes(box.size)}, ${where}`]);
      const inside = values.slice(box.first, box.first + box.count);
      for (const [name, type, , from, to, source] of inside.slice(0, MOST_LINES)) {
        const when = to < 0 ? "always" : `steps ${number(from)} to ${number(to)}`;
        const line = [html("span", `${when} `, "key"), `${text(name)} `, html("code", text(type))];
        if (source >= 0) line.push(" ", html("code", text(source)));
        lines.push(line);
      }
      if (inside.length > MOST_LINES) lines.push([`and ${number(inside.length - MOST_LINES)} more values`]);
    }
    if (cursor !== null) {
      if (lines.length > 0) lines.push(null);
      lines.push([html("span", "step ", "key"), `${number(cursor)}${stepName(cursor)}: ${bytes(taken(cursor))} of ${bytes(total)} taken`]);
    }
    return lines;
  }

  function show(x, y, box) {
    const lines = describe(box);
    tooltip.hidden = lines.length === 0;
    if (tooltip.hidden) return;
    tooltip.replaceChildren(...lines.map((line) => {
      if (line === null) return html("hr");
      const made = html("div");
      made.append(...line);
      return made;
    }));
    const { offsetWidth: w, offsetHeight: h } = tooltip;
    const left = x + 16 + w > frame.width ? Math.max(x - 16 - w, 0) : x + 16;
    tooltip.style.transform = `translate(${left}px, ${limit(y - h / 2, 0, Math.max(frame.height - h, 0))}px)`;
  }

  function highlight(box) {
    if (hovered && hovered.path) hovered.path.classList.remove("hover");
    hovered = box;
    if (box && box.path) box.path.classList.add("hover");
  }

  function hide() {
    cursor = null;
    tooltip.hidden = true;
    highlight(null);
    place();
  }

  function range(region) {
    view.y0 = region ? region.start : 0;
    view.y1 = region ? region.start + region.bytes : total;
    svg.dataset.region = region ? region.name : "all";
    hide();
    render();
  }

  function zoom(factor, middle) {
    const span = limit((view.x1 - view.x0) * factor, Math.min(4, whole), whole);
    const part = (middle - view.x0) / (view.x1 - view.x0);
    view.x0 = limit(middle - part * span, 0, whole - span);
    view.x1 = view.x0 + span;
    render();
  }

  svg.addEventListener("pointermove", (event) => {
    const frameBox = svg.getBoundingClientRect();
    const x = event.clientX - frameBox.left, y = event.clientY - frameBox.top;
    if (x < MARGIN.left || x > MARGIN.left + frame.w || y < MARGIN.top || y > MARGIN.top + frame.h) { hide(); return; }
    cursor = limit(Math.floor(stepAt(x)), 0, whole - 1);
    // The last of those drawn there; what is thinner than a pixel is found all the same.
    const offset = offsetAt(y);
    let box = boxes.findLast((box) => box.path && box.from <= cursor && cursor < box.to && box.offset <= offset && offset < box.offset + box.size);
    const target = event.target.dataset && event.target.dataset.place;
    if (!box && target !== undefined) box = boxes[Number(target)];
    highlight(box ?? null);
    place();
    show(x, y, box ?? null);
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(limit(event.deltaY * (event.deltaMode === 1 ? 20 : 1), -300, 300) / 400), stepAt(event.clientX - svg.getBoundingClientRect().left));
  }, { passive: false });
  svg.addEventListener("dblclick", () => zoom(Infinity, 0));
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (by !== undefined) {
      cursor = limit((cursor ?? Math.floor(view.x0)) + by, 0, whole - 1);
      place();
      show(px(cursor), MARGIN.top + frame.h / 2, null);
      announce.textContent = tooltip.textContent;
    } else if (event.key === "+" || event.key === "=") zoom(0.5, cursor ?? (view.x0 + view.x1) / 2);
    else if (event.key === "-") zoom(2, cursor ?? (view.x0 + view.x1) / 2);
    else if (event.key === "0") zoom(Infinity, 0);
    else if (event.key === "Escape") hide();
    else return;
    event.preventDefault();
  });
  document.querySelectorAll('input[name="plan-region"]').forEach((radio) =>
    radio.addEventListener("change", () => range(radio.value === "arena" ? arena : null)));
  document.querySelectorAll("tr[data-place]").forEach((row) => {
    row.addEventListener("pointerenter", () => highlight(boxes[Number(row.dataset.place)]));
    row.addEventListener("pointerleave", () => highlight(null));
  });

  try {
    range(arena ?? null);
    new ResizeObserver(render).observe(svg);
    svg.dataset.state ??= "ready";
  } catch (error) {
    fail(error);
    throw error;
  }
})();
