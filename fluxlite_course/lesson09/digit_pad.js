// Runs in the page, once for each pad that is shown: an <img> whose onload it is starts it. There's no other way to have
// code in an HTML widget that JupyterLab, Notebook and Colab all run.
(function (img) {
  var box = img.parentNode, canvas = box.querySelector('canvas'), cursor = box.querySelector('[data-cursor]');
  var dots = +box.dataset.dots, radius = +box.dataset.radius, zoom = +box.dataset.zoom;
  var brush = canvas.getContext('2d'), ink = new Uint8Array(dots * dots), x = dots / 2, y = dots / 4;
  var last = null, down = false, timer = 0;
  function put(i) { ink[i] = 1; brush.fillRect(i % dots, Math.floor(i / dots), 1, 1); }
  function dab(u, v) {
    for (var i = 0; i < ink.length; i++) {
      var dx = i % dots + 0.5 - u, dy = Math.floor(i / dots) + 0.5 - v;
      if (!ink[i] && dx * dx + dy * dy <= radius * radius) put(i);
    }
  }
  function line(a, b) {
    var steps = 2 * Math.ceil(Math.hypot(b[0] - a[0], b[1] - a[1])) || 1;
    for (var i = 0; i <= steps; i++) dab(a[0] + (b[0] - a[0]) * i / steps, a[1] + (b[1] - a[1]) * i / steps);
    tell();
  }
  function tell() { if (!timer) timer = setTimeout(send, 50); }
  function send() {
    timer = 0;
    var text = '', field = null;
    for (var i = 0; i < ink.length; i += 4)
      text += (ink[i] * 8 + ink[i + 1] * 4 + ink[i + 2] * 2 + ink[i + 3]).toString(16);
    for (var around = box; around && !field; around = around.parentNode)
      field = around.querySelector('.' + box.dataset.to + ' input');
    if (!field) return;
    field.value = text;
    field.dispatchEvent(new Event('input', {bubbles: true}));
    field.dispatchEvent(new Event('change', {bubbles: true}));
  }
  function place(event) {
    var frame = canvas.getBoundingClientRect();
    return [(event.clientX - frame.left) / frame.width * dots, (event.clientY - frame.top) / frame.height * dots];
  }
  function show() {
    cursor.style.left = x * zoom + 'px';
    cursor.style.top = y * zoom + 'px';
    cursor.style.background = down ? 'currentColor' : 'none';
  }
  for (var i = 0; i < ink.length; i++) if (parseInt(box.dataset.ink[i >> 2], 16) & (8 >> i % 4)) put(i);
  canvas.onpointerdown = function (event) {
    event.preventDefault();
    canvas.focus({preventScroll: true});
    cursor.style.display = 'none';
    canvas.setPointerCapture(event.pointerId);
    last = place(event);
    line(last, last);
  };
  canvas.onpointermove = function (event) {
    if (!last) return;
    var next = place(event);
    line(last, next);
    last = next;
  };
  canvas.onpointerup = canvas.onpointercancel = function () { last = null; };
  canvas.onfocus = function () { if (canvas.matches(':focus-visible')) { cursor.style.display = 'block'; show(); } };
  canvas.onblur = function () { cursor.style.display = 'none'; down = false; };
  canvas.onkeydown = function (event) {
    var way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || !way && event.key !== ' ') return;
    event.preventDefault();
    event.stopPropagation();
    cursor.style.display = 'block';
    var from = [x, y];
    if (way) {
      x = Math.min(dots - 1, Math.max(1, x + way[0]));
      y = Math.min(dots - 1, Math.max(1, y + way[1]));
    } else down = !down;
    if (down) line(from, [x, y]);
    show();
  };
})(this)
