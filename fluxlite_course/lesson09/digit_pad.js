// The digit pad's page: a sheet with a pen, and beside it the layers' numbers, which Python sends (`told`) as you draw.
const CELLS = 28, RADIUS = 1.6, SOFT = 1.6, SHARP = 3.5, WIDE = 68;  // WIDE: points in a row, as large in each layer
const WAYS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
const HELP = 'Draw with the mouse or a finger. With the keyboard: Tab to the sheet, the arrows move the pen, space ' +
  'puts it down or lifts it.';
const SHELL = `
  <div class="sheet">
    <div class="paper">
      <canvas tabindex="0" role="application" aria-label="${HELP}" data-lm-suppress-shortcuts="true"></canvas>
      <i class="pen" hidden></i>
    </div>
    <div class="tools">
      <button type="button" class="clear">Clear</button>
      <span>or see one drawn:</span>
      <span class="examples"></span>
    </div>
    <p class="help" aria-hidden="true">${HELP}</p>
  </div>
  <div class="layers" aria-hidden="true"></div>
  <div class="hidden" role="status" aria-live="polite"></div>`;

const bytesOf = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
const textOf = bytes => btoa(String.fromCharCode(...bytes));
const colourOf = element => (getComputedStyle(element).color.match(/[\d.]+/g) ?? [0, 0, 0]).map(Number);

function add(parent, tag, name, text = '') {
  const child = document.createElement(tag);
  child.className = name;
  child.textContent = text;
  parent.append(child);
  return child;
}

// The ink on the canvas, in the colour of the text around it. Between the centres of four cells it's a mixture of
// theirs, and the edge is made steeper: so the cells don't show.
function paint(canvas, ink) {
  const size = Math.round(canvas.clientWidth * (window.devicePixelRatio || 1));
  if (!size) return;
  if (canvas.width !== size) canvas.width = canvas.height = size;
  const small = new OffscreenCanvas(CELLS, CELLS), dots = new ImageData(CELLS, CELLS);
  for (let i = 0; i < ink.length; i++) dots.data[4 * i + 3] = 255 * ink[i];
  small.getContext('2d').putImageData(dots, 0, 0);
  const brush = canvas.getContext('2d', {willReadFrequently: true});
  brush.clearRect(0, 0, size, size);
  brush.imageSmoothingQuality = 'high';
  brush.drawImage(small, 0, 0, size, size);
  const shown = brush.getImageData(0, 0, size, size), data = shown.data;
  const [red, green, blue] = colourOf(canvas);
  for (let i = 0; i < data.length; i += 4) {
    if (!data[i + 3]) continue;
    data[i] = red; data[i + 1] = green; data[i + 2] = blue;
    data[i + 3] = 255 * Math.min(1, Math.max(0, (data[i + 3] / 255 - 0.5) * SHARP + 0.5));
  }
  brush.putImageData(shown, 0, 0);
}

// A row for each layer: its channels as small pictures, or its numbers as bars. Returns what puts other numbers in.
function build(panel, layers) {
  panel.replaceChildren();
  const rows = layers.map(([name, shape], place) => {
    const last = place === layers.length - 1, count = shape.at(-1), many = shape.length > 1;
    const label = add(panel, 'div', 'label');
    add(label, 'b', '', name);
    const size = shape.slice(0, -1).join(' × ');
    add(label, 'span', '', !place ? `${size} points` : many ? `${count} channels, ${size}` :
      `${count} ${last ? 'shares' : 'numbers'}`);
    const row = add(panel, 'div', many ? 'maps' : last ? 'bars shares' : 'bars');
    const columns = many ? Math.max(count, 8) : count;
    row.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    const cells = Array.from({length: count}, (_, i) => {
      const cell = add(row, many ? 'canvas' : 'div', 'cell');
      if (many) {
        [cell.height, cell.width] = shape;
        cell.style.width = Math.min(94, 100 * shape[1] * columns / WIDE) + '%';
        return cell;
      }
      const share = last && add(cell, 'span', 'share'), bar = add(cell, 'i', '');
      if (last) add(cell, 'b', '', i);
      return {cell, share, bar};
    });
    // Beside what it sees, so that you have it before your eyes while you draw: on a laptop the shares are further down.
    const verdict = !place && add(row, 'span', 'verdict');
    if (verdict) verdict.style = many ? 'grid-column: 2 / -1; place-self: center start; margin-left: 1.1rem' :
      'grid-column: 1 / -1; justify-self: start';
    return {last, shape, cells, verdict};
  });
  return told => rows.forEach((row, place) => fill(panel, row, bytesOf(told.layers[place][2]), told));
}

function fill(panel, row, values, told) {
  const [high, wide] = row.shape, [red, green, blue] = colourOf(panel), many = row.shape.length > 1;
  row.cells.forEach((one, i) => {
    if (many) {
      const dots = new ImageData(wide, high);
      for (let k = 0; k < wide * high; k++) dots.data.set([red, green, blue, values[k * row.cells.length + i]], 4 * k);
      one.getContext('2d').putImageData(dots, 0, 0);
      return;
    }
    one.bar.style.setProperty('--value', values[i] / 255);
    if (!row.last) return;
    one.cell.classList.toggle('wins', i === told.best);
    one.share.textContent = i === told.best ? Math.round(values[i] / 2.55) + '%' : '';
  });
  if (!row.verdict) return;
  row.verdict.textContent = told.word ? 'it reads' : 'nothing yet';
  add(row.verdict, 'strong', told.word.length > 3 ? 'long' : '', told.word);
}

const touched = new WeakSet();  // the pads that were drawn on

function render({model, el}) {
  el.classList.add('fluxlite-pad');
  el.innerHTML = SHELL;
  const find = name => el.querySelector(name);
  const canvas = find('canvas'), pen = find('.pen'), layers = find('.layers'), status = find('.hidden');
  const calm = matchMedia('(prefers-reduced-motion: reduce)');
  const ink = new Float32Array(CELLS * CELLS);
  let x = CELLS / 2, y = CELLS / 4, down = false, last = null, timer = 0, frame = 0, mine = false, show = 0, says = 0;
  let isExample = !touched.has(model);  // drawn for you: your first stroke begins on an empty sheet
  let built = '', update = null;

  function repaint() { frame ||= requestAnimationFrame(() => { frame = 0; paint(canvas, ink); }); }
  function dab(u, v) {
    for (let i = 0; i < ink.length; i++) {
      const far = Math.hypot(i % CELLS + 0.5 - u, Math.floor(i / CELLS) + 0.5 - v);
      ink[i] = Math.max(ink[i], Math.min(1, (RADIUS - far) / SOFT + 0.5));
    }
  }
  function line(a, b) {
    const steps = 2 * Math.ceil(Math.hypot(b[0] - a[0], b[1] - a[1])) || 1;
    for (let i = 0; i <= steps; i++) dab(a[0] + (b[0] - a[0]) * i / steps, a[1] + (b[1] - a[1]) * i / steps);
    changed();
  }
  function changed() { repaint(); timer ||= setTimeout(send, 50); }
  function send() {
    timer = 0;
    mine = true;
    model.set('sheet', textOf(Uint8Array.from(ink, one => Math.round(255 * one))));
    mine = false;
    model.save_changes();
  }
  function clear() { clearInterval(show); ink.fill(0); isExample = false; changed(); }
  function begin() {
    clearInterval(show);
    touched.add(model);
    if (isExample) clear();
  }
  function place(event) {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width * CELLS, (event.clientY - box.top) / box.height * CELLS];
  }
  function movePen() {
    pen.hidden = false;
    pen.classList.toggle('down', down);
    pen.style.left = 100 * x / CELLS + '%';
    pen.style.top = 100 * y / CELLS + '%';
  }
  // An example is drawn as a hand would, so that one sees the layers follow; at once for those who want no motion.
  function perform(strokes) {
    clear();
    isExample = true;
    const steps = strokes.flatMap(stroke => stroke.slice(1).flatMap((to, i) => {
      const from = stroke[i], parts = Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]));
      const at = part => from.map((one, k) => one + (to[k] - one) * part / parts);
      return Array.from({length: parts}, (_, part) => [at(part), at(part + 1)]);
    }));
    if (calm.matches) return steps.forEach(step => line(...step));
    show = setInterval(() => steps.length ? line(...steps.shift()) : clearInterval(show), 25);
  }
  function read() {
    const told = model.get('told'), now = told.layers.map(layer => layer.slice(0, 2)).join();
    if (!told.layers.length) {
      layers.replaceChildren();
      add(layers, 'p', '', told.sentence);  // an error
    } else if (now !== built) update = build(layers, told.layers);
    built = now;
    if (built) update(told);
    clearTimeout(says);  // said once the pen rests, or a screen reader would never come to an end
    says = setTimeout(() => { status.textContent = model.get('told').sentence; }, 600);
  }
  function take() {
    if (mine) return;
    isExample &&= !ink.some(Boolean);  // the first sheet is ours; later ones were set in Python
    ink.set(Array.from(bytesOf(model.get('sheet')), one => one / 255));
    repaint();
  }

  canvas.addEventListener('pointerdown', event => {
    event.preventDefault();
    begin();
    canvas.focus({preventScroll: true});
    pen.hidden = true;
    canvas.setPointerCapture(event.pointerId);
    last = place(event);
    line(last, last);
  });
  canvas.addEventListener('pointermove', event => {
    if (!last) return;
    for (const one of event.getCoalescedEvents?.() ?? [event]) {
      const next = place(one);
      line(last, next);
      last = next;
    }
  });
  for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, () => { last = null; });
  canvas.addEventListener('focus', () => { if (canvas.matches(':focus-visible')) movePen(); });
  canvas.addEventListener('blur', () => { pen.hidden = true; down = false; });
  canvas.addEventListener('keydown', event => {
    const way = WAYS[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || !way && event.key !== ' ') return;
    event.preventDefault();
    event.stopPropagation();
    clearInterval(show);
    const from = [x, y];
    if (way) [x, y] = from.map((one, k) => Math.min(CELLS - 1, Math.max(1, one + way[k])));
    else down = !down;
    if (down) {
      begin();
      line(from, [x, y]);
    }
    movePen();
  });
  canvas.addEventListener('transitionend', () => { repaint(); read(); });  // the theme has changed
  find('.clear').addEventListener('click', clear);
  model.get('examples').forEach((strokes, digit) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = digit;
    button.setAttribute('aria-label', `draw the example of a ${digit}`);
    button.addEventListener('click', () => perform(strokes));
    find('.examples').append(button);
  });
  model.on('change:told', read);
  model.on('change:sheet', take);
  const sized = new ResizeObserver(() => { repaint(); read(); });  // also once it's in the page, and has a colour
  sized.observe(canvas);
  take();
  read();
  return () => {
    clearInterval(show);
    clearTimeout(timer);
    sized.disconnect();
    model.off('change:told', read);
    model.off('change:sheet', take);
  };
}

// Where no kernel runs: the same page, with the numbers of one digit, and no pen.
function still(state, el) {
  render({model: {get: name => state[name] ?? [], on() {}, off() {}}, el});
  for (const part of el.querySelectorAll('.tools, .help')) part.remove();
  el.querySelector('.paper').inert = true;
}

export default {render, still};
