"use strict";
(() => {
  const root = document.documentElement;
  const fail = (error) => { root.dataset.state = "failed"; root.dataset.error = String(error); };
  window.addEventListener("error", (event) => fail(event.message));

  const data = JSON.parse(document.getElementById("data").textContent);
  const svg = document.getElementById("chart");
  const { bytes, number, element } = tools(svg);
  const tooltip = document.getElementById("tooltip");
  const picture = document.getElementById("picture");
  const announce = document.getElementById("announce");
  const MARGIN = { left: 76, right: 16, top: 32, bottom: 46 };
  const KINDS = ["argument", "result", "temporary"];
  const MOST_LABELS = 60;
  const { programs, strings, floor } = data;
  const top = 1.07 * Math.max(floor, 1, ...programs.map((program) => program.peak));
  // What is shown: shares of the program across, bytes up.
  const view = { x0: 0, x1: 1, y0: 0, y1: top };
  let shown = 0, kept = null, cursor = null, hovered = null, changed = () => {};

  const text = (index) => (index < 0 ? "" : strings[index]);
  const percent = (part, whole) => {
    const share = (100 * part) / Math.max(whole, 1);
    return share > 0 && share < 1 ? "<1 %" : `${Math.round(share)} %`;
  };

  // Bands: the values of a program piled up, in units of columns across and bytes up.
  function pile(program) {
    const level = new Float64Array(program.live.length);
    const bands = program.values.map(([name, op, type, size, kind, from, to, source, scope, first, last], index) => {
      const pieces = [];
      for (let column = from; column <= to; column += 1) {
        const base = level[column];
        const piece = pieces[pieces.length - 1];
        if (piece && piece.base === base) piece.end = column + 1;
        else pieces.push({ start: column, end: column + 1, base });
        level[column] = base + size;
      }
      return { index, name, op, type, size, kind, source, scope, first, last, pieces, height: () => size };
    });
    for (const group of program.rest) {
      const pieces = [];
      group.bytes.forEach((size, column) => {
        const base = level[column];
        level[column] = base + size;
        const piece = pieces[pieces.length - 1];
        if (piece && piece.base === base && piece.size === size) piece.end = column + 1;
        else pieces.push({ start: column, end: column + 1, base, size });
      });
      bands.push({ group, size: Math.max(...group.bytes), pieces, height: (piece) => piece.size });
    }
    return bands;
  }

  // Flat coordinates keep paths short: bytes as thousandths of a pixel or so of the whole picture.
  const flat = (size) => +((size / top) * 1e5).toFixed(2);

  function path(band) {
    let up = "", down = "";
    band.pieces.forEach((piece, at) => {
      const high = flat(piece.base + band.height(piece));
      up += at === 0 ? `M${piece.start} ${high}H${piece.end}` : `V${high}H${piece.end}`;
      down = `V${flat(piece.base)}H${piece.start}${down}`;
    });
    return `${up}${down}Z`;
  }

  function outline(live) {
    let made = "";
    live.forEach((size, column) => {
      if (column > 0 && size === live[column - 1]) return;
      made += column === 0 ? `M0 ${flat(size)}` : `H${column}V${flat(size)}`;
    });
    return `${made}H${live.length}`;
  }

  programs.forEach((program) => { program.outline = outline(program.live); });

  const layers = {};
  function build() {
    svg.replaceChildren();
    const clip = element("clipPath", { id: "plot-clip" }, element("defs", {}, svg));
    layers.clip = element("rect", {}, clip);
    layers.background = element("rect", { fill: "transparent" }, svg);
    layers.grid = element("g", {}, svg);
    const plot = element("g", { "clip-path": "url(#plot-clip)" }, svg);
    layers.bands = element("g", {}, plot);
    layers.names = element("g", {}, plot);
    layers.outlines = programs.map((program) => element("g", {}, plot));
    programs.forEach((program, at) =>
      element("path", { d: program.outline, class: `outline ${program.key}` }, layers.outlines[at]));
    layers.floor = element("line", { class: "floor" }, plot);
    layers.cursor = element("line", { class: "cursor", visibility: "hidden" }, plot);
    layers.brush = element("rect", { class: "brush", visibility: "hidden" }, plot);
    layers.marks = element("g", {}, svg);
    fill();
  }

  // What tells colours apart: the value itself, or what it has in common with others.
  let coloured = "value";
  const CLASSES = 12;
  function colour(band) {
    if (coloured === "value") return band.kind < 2 ? `k${band.kind}` : `t${band.index % 6}`;
    const key = text(band[coloured]) || (band.kind < 2 ? KINDS[band.kind] : "");
    return key === "" ? "rest" : `c${classes.get(key) ?? CLASSES}`;
  }
  // The largest dozen have a colour of their own, in both programs the same.
  let classes = new Map();
  function classify() {
    const sums = new Map();
    for (const program of programs) {
      for (const [name, op, type, size, kind, from, to, source, scope] of program.values) {
        const key = text({ op, source, scope }[coloured] ?? -1) || (kind < 2 ? KINDS[kind] : "");
        if (key !== "") sums.set(key, (sums.get(key) ?? 0) + size);
      }
    }
    const sorted = [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([key]) => key);
    classes = new Map(sorted.slice(0, CLASSES).map((key, at) => [key, at]));
    return { kinds: [...classes.keys()], more: sorted.length > CLASSES };
  }

  function fill() {
    const program = programs[shown];
    program.bands ??= pile(program);
    layers.bands.replaceChildren();
    program.bands.forEach((band, at) => {
      const kind = band.group ? "rest" : colour(band);
      band.path = element("path", { d: path(band), class: `band ${kind}` }, layers.bands);
      band.path.dataset.band = at;
      if (!band.group) band.path.dataset.value = band.index;
    });
    svg.dataset.bands = program.bands.length;
    svg.dataset.program = program.key;
    mark();
  }

  const size = () => {
    const box = svg.getBoundingClientRect();
    const width = Math.max(box.width || 0, 200), height = Math.max(box.height || 0, 160);
    return { width, height, w: width - MARGIN.left - MARGIN.right, h: height - MARGIN.top - MARGIN.bottom };
  };
  let frame = size();
  const px = (share) => MARGIN.left + ((share - view.x0) / (view.x1 - view.x0)) * frame.w;
  const py = (count) => MARGIN.top + (1 - (count - view.y0) / (view.y1 - view.y0)) * frame.h;
  const shareAt = (x) => view.x0 + ((x - MARGIN.left) / frame.w) * (view.x1 - view.x0);
  const bytesAt = (y) => view.y0 + (1 - (y - MARGIN.top) / frame.h) * (view.y1 - view.y0);

  function transform(program) {
    const columns = Math.max(program.live.length, 1);
    const sx = frame.w / columns / (view.x1 - view.x0);
    const sy = -((top / 1e5) * frame.h) / (view.y1 - view.y0);
    return `translate(${px(0)} ${py(0)}) scale(${sx} ${sy})`;
  }

  function render() {
    frame = size();
    const { width, height, w, h } = frame;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    for (const rect of [layers.clip, layers.background]) {
      for (const [key, value] of Object.entries({ x: MARGIN.left, y: MARGIN.top, width: w, height: h })) {
        rect.setAttribute(key, value);
      }
    }
    layers.bands.setAttribute("transform", transform(programs[shown]));
    layers.outlines.forEach((layer, at) => layer.setAttribute("transform", transform(programs[at])));
    grid();
    taken = [];
    marks();
    names();
    place();
    svg.dataset.view = [view.x0, view.x1].map((share) => share.toFixed(4)).join(" ");
  }

  function grid() {
    layers.grid.replaceChildren();
    const { w, h } = frame;
    const span = view.y1 - view.y0;
    const unit = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(view.y1, 1) / 2) / Math.log(1024)));
    const step = unit * nice(span / unit / 6);
    const aligned = Math.ceil(view.y0 / step) * step;
    for (let count = aligned; count <= view.y1 && step > 0; count += step) {
      const y = py(count);
      element("line", { class: "grid", x1: MARGIN.left, x2: MARGIN.left + w, y1: y, y2: y }, layers.grid);
      const unitName = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][Math.round(Math.log(unit) / Math.log(1024))];
      const label = `${+(count / unit).toPrecision(4)} ${unitName}`;
      element("text", { x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" }, layers.grid, label);
    }
    steps();
    element("line", { class: "axis", x1: MARGIN.left, x2: MARGIN.left + w, y1: MARGIN.top + h, y2: MARGIN.top + h }, layers.grid);
    const { label, steps: count } = programs[shown];
    const whose = programs.length > 1 ? ` of the program ${label.toLowerCase()}` : "";
    const title = `step${whose}, of ${number(count)}`;
    element("text", { x: MARGIN.left + w / 2, y: MARGIN.top + h + 37, "text-anchor": "middle" }, layers.grid, title);
  }

  // Numbers of the steps of the program whose values are shown, as many as there is room for.
  function steps() {
    const { w, h } = frame;
    const program = programs[shown];
    const columns = program.live.length;
    if (columns === 0) return;
    const wide = 7 * number(program.steps).length + 24;
    const every = Math.max(1, nice(((view.x1 - view.x0) * program.steps) / Math.max(2, Math.floor(w / wide))));
    const first = program.at[columnAt(program, view.x0)];
    let free = -Infinity;
    for (let step = Math.ceil((first + 1) / every) * every || 1; step <= program.steps; step += every) {
      // The first column that is not before the step.
      let low = 0, high = columns - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (program.at[middle] + 1 < step) low = middle + 1; else high = middle;
      }
      const x = px((low + 0.5) / columns);
      if (x > MARGIN.left + w) break;
      if (x < MARGIN.left || x - wide / 2 < free) continue;
      free = x + wide / 2;
      element("line", { class: "axis", x1: x, x2: x, y1: MARGIN.top + h, y2: MARGIN.top + h + 5 }, layers.grid);
      const anchor = x + wide / 2 > MARGIN.left + w ? "end" : "middle";
      element("text", { class: "step", x, y: MARGIN.top + h + 19, "text-anchor": anchor }, layers.grid, number(step));
    }
  }

  function nice(rough) {
    const power = 10 ** Math.floor(Math.log10(rough));
    const lead = rough / power;
    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  }

  // Where texts are, so that no other is put there.
  let taken = [];
  const isFree = (left, right, y, high) =>
    !taken.some((other) => Math.abs(other.y - y) < (other.high + high) / 2 && left < other.right && right > other.left);

  // Names of values, where there is room for them.
  function names() {
    layers.names.replaceChildren();
    const program = programs[shown];
    const columns = program.live.length;
    let made = 0;
    for (const band of program.bands) {
      const high = (band.size / (view.y1 - view.y0)) * frame.h;
      // Borders would hide what is thinner than they are.
      band.path.classList.toggle("thin", high < 6);
      if (made >= MOST_LABELS || band.group || high < 15) continue;
      let best = null;
      for (const piece of band.pieces) {
        const left = Math.max(px(piece.start / columns), MARGIN.left);
        const right = Math.min(px(piece.end / columns), MARGIN.left + frame.w);
        const y = py(piece.base + band.size / 2);
        if (y < MARGIN.top + 6 || y > MARGIN.top + frame.h - 6) continue;
        if (!best || right - left > best.room) best = { room: right - left, x: (left + right) / 2, y };
      }
      if (!best || best.room < 60) continue;
      const letters = Math.floor((best.room - 10) / 6.6);
      let label = `${text(band.name)}  ${bytes(band.size)}`;
      const long = `${text(band.name)}  ${band.kind === 0 ? "argument" : text(band.op).replace(/^stablehlo\./, "")}  ${bytes(band.size)}`;
      if (long.length <= letters) label = long;
      if (label.length > letters) label = bytes(band.size);
      if (label.length > letters) continue;
      const half = label.length * 3.3;
      if (!isFree(best.x - half, best.x + half, best.y, 13)) continue;
      taken.push({ left: best.x - half, right: best.x + half, y: best.y, high: 13 });
      element("text", { class: "name", x: best.x, y: best.y + 4, "text-anchor": "middle" }, layers.names, label);
      made += 1;
    }
  }

  function marks() {
    layers.marks.replaceChildren();
    const y = py(floor);
    for (const [key, value] of Object.entries({ x1: MARGIN.left, x2: MARGIN.left + frame.w, y1: y, y2: y })) {
      layers.floor.setAttribute(key, value);
    }
    const inside = (x, y) => x >= MARGIN.left - 1 && x <= MARGIN.left + frame.w + 1 && y >= MARGIN.top - 8 && y <= MARGIN.top + frame.h + 1;
    const caption = (x, y, kind, content) => {
      const wide = content.length * 6.8;
      const anchor = x + wide / 2 > MARGIN.left + frame.w ? "end" : x - wide / 2 < MARGIN.left ? "start" : "middle";
      const left = anchor === "end" ? x - wide : anchor === "start" ? x : x - wide / 2;
      let at = Math.max(y - 9, 27);
      // Upwards, and where there is no more room, down.
      while (at > 12 && !isFree(left, left + wide, at - 4, 14)) at -= 15;
      while (!isFree(left, left + wide, at - 4, 14)) at += 15;
      taken.push({ left, right: left + wide, y: at - 4, high: 14 });
      element("text", { class: `peak ${kind}`, x, y: at, "text-anchor": anchor }, layers.marks, content);
    };
    programs.forEach((program) => {
      if (program.live.length === 0) return;
      const x = px((program.peakColumn + 0.5) / program.live.length), y = py(program.live[program.peakColumn]);
      if (!inside(x, y)) return;
      element("circle", { class: `dot ${program.key}`, cx: x, cy: y, r: 4.5 }, layers.marks);
      caption(x, y, program.key, `${programs.length > 1 ? `${program.label}: p` : "P"}eak ${bytes(program.peak)}${program.gaps > 0 ? `, ${bytes(program.gaps)} of it gaps` : ""}`);
    });
    if (floor > 0 && inside(MARGIN.left + 4, y)) caption(MARGIN.left + 4, y + 5, "floor-name", `Floor ${bytes(floor)}`);
  }

  // The column of a program that a share of it falls into.
  const columnAt = (program, share) =>
    Math.min(Math.max(Math.floor(share * program.live.length), 0), program.live.length - 1);

  function place() {
    if (cursor === null) { layers.cursor.setAttribute("visibility", "hidden"); return; }
    const x = px(cursor);
    for (const [key, value] of Object.entries({ x1: x, x2: x, y1: MARGIN.top, y2: MARGIN.top + frame.h, visibility: "visible" })) {
      layers.cursor.setAttribute(key, value);
    }
  }

  function html(name, content, className) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (content !== undefined) made.textContent = content;
    return made;
  }

  function describe(band) {
    const lines = [];
    const program = programs[shown];
    if (band && band.group) {
      const { label, count, bytes: sizes } = band.group;
      const column = columnAt(program, cursor ?? 0);
      lines.push([html("strong", label < 0 ? "Other small values" : "Small values"), `  ${bytes(sizes[column])} here, up to ${bytes(band.size)}`]);
      if (label >= 0) lines.push([text(label)]);
      lines.push([`${number(count)} values drawn as one`]);
    } else if (band) {
      const name = html("strong", text(band.name));
      lines.push([name, `  ${bytes(band.size)}, ${percent(band.size, program.peak)} of the peak`]);
      lines.push([html("code", text(band.type))]);
      const by = band.kind === 0 ? "argument" : `${KINDS[band.kind]}, made by ${text(band.op)}`;
      lines.push([by]);
      if (band.source >= 0) lines.push([html("span", "source ", "key"), html("code", text(band.source))]);
      if (band.scope >= 0) lines.push([html("span", "name ", "key"), text(band.scope)]);
      if (programs.length > 1 && band.source >= 0) {
        const sums = bySource(band.source).map(({ program: each, count, bytes: sum }) =>
          `${each.label.toLowerCase()} ${number(count)} of ${bytes(sum)}`);
        lines.push([html("span", "this line ", "key"), `makes ${sums.join(", ")}`]);
      }
      lines.push([html("span", "alive ", "key"), `step ${number(band.first + 1)} to ${number(band.last + 1)} of ${number(program.steps)}`]);
    }
    if (cursor !== null) {
      if (lines.length > 0) lines.push(null);
      for (const each of programs) {
        if (each.live.length === 0) continue;
        const column = linkedColumn(each, band);
        const op = text(each.op[column]), source = text(each.source[column]);
        const dot = html("span", undefined, `dot ${each.key}`);
        lines.push([dot, `${each.label}: ${bytes(each.live[column])} at step ${number(each.at[column] + 1)}, ${op}${source ? `, ${source}` : ""}`]);
      }
    }
    return lines;
  }

  // What the other program does at the same line of source, the nearest by share of it; by share where there is no line.
  function linkedColumn(each, band) {
    const column = columnAt(each, cursor);
    const own = programs[shown];
    if (each === own || own.live.length === 0) return column;
    const source = band && !band.group && band.source >= 0 ? band.source : own.source[columnAt(own, cursor)];
    if (source < 0) return column;
    each.places ??= each.source.reduce((places, at, place) => {
      if (at >= 0) places.has(at) ? places.get(at).push(place) : places.set(at, [place]);
      return places;
    }, new Map());
    const places = each.places.get(source);
    if (!places) return column;
    return places.reduce((best, place) => (Math.abs(place - column) < Math.abs(best - column) ? place : best));
  }

  // Bytes of a line of source in each program, of values drawn one by one.
  function bySource(source) {
    return programs.map((program) => {
      const same = program.values.filter((value) => value[7] === source);
      return { program, count: same.length, bytes: same.reduce((sum, value) => sum + value[3], 0) };
    });
  }

  function show(x, y, band) {
    const lines = describe(band);
    if (lines.length === 0) { tooltip.hidden = true; return; }
    tooltip.replaceChildren(...lines.map((line) => {
      if (line === null) return html("hr");
      const made = html("div");
      made.append(...line);
      return made;
    }));
    tooltip.hidden = false;
    const { offsetWidth: w, offsetHeight: h } = tooltip;
    const left = x + 16 + w > frame.width ? Math.max(x - 16 - w, 0) : x + 16;
    const above = Math.min(Math.max(y - h / 2, 0), Math.max(frame.height - h, 0));
    tooltip.style.transform = `translate(${left}px, ${above}px)`;
  }

  function hide() {
    tooltip.hidden = true;
    cursor = null;
    highlight(null);
    place();
  }

  function highlight(band) {
    if (hovered && hovered.path) hovered.path.classList.remove("hover");
    hovered = band;
    if (band) band.path.classList.add("hover");
  }

  const bandOf = (target) => {
    const found = target.closest && target.closest(".band");
    if (!found) return null;
    const { bands } = programs[shown];
    return bands[Number(found.dataset.band)];
  };

  const point = (event) => {
    const box = svg.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const inPlot = ({ x, y }) =>
    x >= MARGIN.left && x <= MARGIN.left + frame.w && y >= MARGIN.top && y <= MARGIN.top + frame.h;

  // Marks the kept value in picture and table.
  function mark() {
    document.querySelectorAll(".kept").forEach((marked) => marked.classList.remove("kept"));
    if (kept === null) return;
    const source = programs[kept.program].values[kept.index][7];
    for (const band of programs[shown].bands) {
      if (band.group) continue;
      // In the other program, what the same line of source makes.
      const same = kept.program === shown ? band.index === kept.index : source >= 0 && band.source === source;
      band.path.classList.toggle("kept", same);
    }
    const row = document.querySelector(`tr[data-program="${kept.program}"][data-value="${kept.index}"]`);
    if (row) row.classList.add("kept");
  }

  function select(program) {
    if (program === shown) return;
    shown = program;
    highlight(null);
    const radio = document.querySelector(`input[name="program"][value="${program}"]`);
    if (radio) radio.checked = true;
    fill();
    render();
    changed();
  }

  function zoom(factor, at, height) {
    const [low, high] = height ? ["y0", "y1"] : ["x0", "x1"];
    const whole = height ? top : 1;
    const least = whole / (height ? 2000 : Math.max(200, ...programs.map((program) => program.live.length / 4)));
    const span = Math.min(Math.max((view[high] - view[low]) * factor, least), whole);
    const part = (at - view[low]) / (view[high] - view[low]);
    view[low] = Math.min(Math.max(at - part * span, 0), whole - span);
    view[high] = view[low] + span;
    render();
  }

  function move(dx, dy) {
    const across = Math.min(Math.max(view.x0 + dx, 0), 1 - (view.x1 - view.x0)) - view.x0;
    const up = Math.min(Math.max(view.y0 + dy, 0), top - (view.y1 - view.y0)) - view.y0;
    view.x0 += across; view.x1 += across; view.y0 += up; view.y1 += up;
    render();
  }

  function reset() {
    Object.assign(view, { x0: 0, x1: 1, y0: 0, y1: top });
    render();
  }

  let drag = null;
  svg.addEventListener("pointerdown", (event) => {
    const at = point(event);
    if (event.button !== 0 || !inPlot(at)) return;
    drag = { from: at, last: at, pan: event.shiftKey, moved: false, band: bandOf(event.target) };
    try { svg.setPointerCapture(event.pointerId); } catch { /* Not a pointer that is down; dragging works without. */ }
  });
  svg.addEventListener("pointermove", (event) => {
    const at = point(event);
    if (drag) {
      drag.moved ||= Math.hypot(at.x - drag.from.x, at.y - drag.from.y) > 5;
      if (!drag.moved) return;
      hide();
      if (drag.pan) {
        move(((drag.last.x - at.x) / frame.w) * (view.x1 - view.x0), ((at.y - drag.last.y) / frame.h) * (view.y1 - view.y0));
      } else {
        brush(at);
      }
      drag.last = at;
      return;
    }
    if (!inPlot(at)) { hide(); return; }
    cursor = shareAt(at.x);
    const band = bandOf(event.target);
    highlight(band);
    place();
    show(at.x, at.y, band);
  });
  const limit = (value, low, high) => Math.min(Math.max(value, low), high);
  function area(at) {
    const x = [drag.from.x, at.x].map((x) => limit(x, MARGIN.left, MARGIN.left + frame.w)).sort((a, b) => a - b);
    let y = [drag.from.y, at.y].map((y) => limit(y, MARGIN.top, MARGIN.top + frame.h)).sort((a, b) => a - b);
    // A flat stroke means time only.
    if (y[1] - y[0] < 24) y = [MARGIN.top, MARGIN.top + frame.h];
    return { x, y };
  }
  function brush(at) {
    const { x, y } = area(at);
    const shape = { x: x[0], y: y[0], width: x[1] - x[0], height: y[1] - y[0], visibility: "visible" };
    for (const [key, value] of Object.entries(shape)) layers.brush.setAttribute(key, value);
  }
  svg.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const { moved, pan, band } = drag;
    layers.brush.setAttribute("visibility", "hidden");
    if (moved && !pan) {
      const { x, y } = area(point(event));
      if (x[1] - x[0] > 5) {
        const [x0, x1, y0, y1] = [shareAt(x[0]), shareAt(x[1]), bytesAt(y[1]), bytesAt(y[0])];
        Object.assign(view, { x0, x1, y0, y1 });
        zoom(1, x0, false);
      }
    } else if (!moved) {
      const same = band && kept && kept.program === shown && kept.index === band.index;
      kept = band && !band.group && !same ? { program: shown, index: band.index } : null;
      mark();
    }
    drag = null;
  });
  svg.addEventListener("pointercancel", () => { drag = null; layers.brush.setAttribute("visibility", "hidden"); });
  svg.addEventListener("pointerleave", () => { if (!drag) hide(); });
  svg.addEventListener("dblclick", reset);
  svg.addEventListener("wheel", (event) => {
    const at = point(event);
    if (!inPlot(at)) return;
    event.preventDefault();
    const amount = (event.deltaY || event.deltaX) * (event.deltaMode === 1 ? 20 : 1);
    const factor = Math.exp(limit(amount, -300, 300) / 400);
    if (event.shiftKey) zoom(factor, bytesAt(at.y), true);
    else zoom(factor, shareAt(at.x), false);
  }, { passive: false });

  const middle = () => (cursor === null ? (view.x0 + view.x1) / 2 : cursor);
  document.getElementById("zoom-in").addEventListener("click", () => zoom(0.5, middle(), false));
  document.getElementById("zoom-out").addEventListener("click", () => zoom(2, middle(), false));
  document.getElementById("zoom-reset").addEventListener("click", reset);

  svg.addEventListener("keydown", (event) => {
    const step = (view.x1 - view.x0) / 50;
    const moves = { ArrowLeft: -step, ArrowRight: step, PageUp: -10 * step, PageDown: 10 * step };
    if (event.key in moves) {
      cursor = limit((cursor ?? view.x0) + moves[event.key], 0, 1);
      if (cursor < view.x0 || cursor > view.x1) move(cursor < view.x0 ? cursor - view.x0 : cursor - view.x1, 0);
      const program = programs[shown];
      if (program.live.length > 0) {
        place();
        show(px(cursor), py(program.live[columnAt(program, cursor)]), null);
        announce.textContent = tooltip.textContent;
      }
    } else if (event.key === "Home" || event.key === "End") {
      cursor = event.key === "Home" ? 0 : 1;
      place();
    } else if (event.key === "+" || event.key === "=") zoom(0.5, middle(), false);
    else if (event.key === "-") zoom(2, middle(), false);
    else if (event.key === "0") reset();
    else if (event.key === "Escape") { kept = null; mark(); hide(); } else return;
    event.preventDefault();
  });
  svg.addEventListener("blur", hide);

  document.querySelectorAll('input[name="program"]').forEach((radio) =>
    radio.addEventListener("change", () => select(Number(radio.value))));
  document.querySelectorAll("tr[data-value]").forEach((row) => {
    const keep = () => {
      select(Number(row.dataset.program));
      kept = { program: shown, index: Number(row.dataset.value) };
      mark();
      picture.scrollIntoView({ block: "nearest" });
    };
    row.tabIndex = 0;
    row.addEventListener("click", keep);
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { keep(); event.preventDefault(); }
    });
  });

  // Values that are looked for stand out, all others step back.
  function find(words) {
    const wanted = words.toLowerCase().split(/\s+/).filter((word) => word !== "");
    let count = 0, sum = 0;
    for (const band of programs[shown].bands) {
      const has = band.group ? text(band.group.label) : [band.name, band.op, band.type, band.source, band.scope].map(text).join(" ");
      const found = wanted.length > 0 && wanted.every((word) => has.toLowerCase().includes(word));
      band.path.classList.toggle("found", found);
      if (found && !band.group) { count += 1; sum += band.size; }
    }
    svg.classList.toggle("searching", wanted.length > 0);
    return { count, sum };
  }

  // The highest step in the middle, with as much around it as can be told apart.
  function jump() {
    const program = programs[shown];
    if (program.live.length === 0) return;
    const at = (program.peakColumn + 0.5) / program.live.length;
    const span = Math.min(1, Math.max(40 / program.live.length, Math.min(view.x1 - view.x0, 0.1)));
    const x0 = Math.min(Math.max(at - span / 2, 0), 1 - span);
    Object.assign(view, { x0, x1: x0 + span, y0: 0, y1: top });
    cursor = at;
    render();
    // In the middle, for the peaks' labels are at the top.
    show(px(at), frame.height / 2, null);
    announce.textContent = tooltip.textContent;
  }

  window.timeline = {
    programs, text, find, jump,
    colourBy(key) {
      coloured = key;
      const found = key === "value" ? { kinds: [], more: false } : classify();
      fill();
      render();
      return found;
    },
    onProgram(then) { changed = then; },
  };

  try {
    build();
    render();
    new ResizeObserver(render).observe(svg);
    root.dataset.state ??= "ready";
  } catch (error) {
    fail(error);
    throw error;
  }
})();
