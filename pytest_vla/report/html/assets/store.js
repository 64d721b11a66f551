// The data of the page: columns of numbers and words, turned into episodes only where somebody looks.

const DATA = JSON.parse(document.getElementById("data").textContent);
const WORDS = DATA.words;
const WORD_FIELDS = new Set(DATA.word_fields);

function makeRun({ label, path, policy, total, columns, flips, details, films }) {
  const ids = columns.id;
  const rows = new Map(ids.map((id, row) => [id, row]));
  return { label, path, policy, total, columns, size: ids.length, ids, rows, flips: flips.map((code) => WORDS[code]), details: new Set(details), films: new Set(films) };
}

const RUNS = DATA.runs.map(makeRun);
const [RUN, OTHER] = RUNS;

const word = (run, field, row) => WORDS[run.columns[field][row]];

function episodeAt(run, row) {
  const episode = { row };
  for (const [name, column] of Object.entries(run.columns)) {
    episode[name] = WORD_FIELDS.has(name) ? WORDS[column[row]] : column[row];
  }
  return episode;
}

// Films and curves are parsed when their episode is opened.
function detailOf(number, row) {
  if (!RUNS[number].details.has(row)) return null;
  return JSON.parse(document.getElementById(`detail-${number}-${row}`).textContent);
}

const blobs = new Map();

// The address of a media file: beside the page, or made of the text inside it.
function mediaAddress(name) {
  if (DATA.media !== null) return DATA.media + encodeURIComponent(name);
  if (!blobs.has(name)) {
    const element = document.querySelector(`script[data-media="${CSS.escape(name)}"]`);
    const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
    blobs.set(name, URL.createObjectURL(new Blob([bytes], { type: element.dataset.kind })));
  }
  return blobs.get(name);
}

// What became of each episode since the other run.
const FLIPS = OTHER ? RUN.flips : new Array(RUN.size).fill("");
