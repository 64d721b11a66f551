// Small makers of elements and texts; text only ever becomes text, never markup.

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "style") element.style.cssText = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

function makeSvg(tag, properties = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const words = (name) => name.replaceAll("_", " ");
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}%`;
const seconds = (value) => (value < 1 ? `${Math.round(1000 * value)} ms` : value < 100 ? `${value.toFixed(1)} s` : `${Math.round(value)} s`);
const number = (value) => (Number.isInteger(value) ? String(value) : Number(value).toPrecision(3));

// Wilson's 95% score interval, as in the tables above.
function wilson(solved, measured) {
  const z = 1.959963984540054;
  const rate = solved / measured;
  const centre = rate + (z * z) / (2 * measured);
  const half = z * Math.sqrt((rate * (1 - rate)) / measured + (z * z) / (4 * measured * measured));
  const scale = 1 + (z * z) / measured;
  return [Math.max(0, (centre - half) / scale), Math.min(1, (centre + half) / scale)];
}

// A word as a POSIX shell reads it.
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\"'\"'")}'`);
