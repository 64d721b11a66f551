// The data of the page: columns of numbers and words, turned into episodes only where somebody looks.

const DATA = JSON.parse(document.getElementById("data").textContent);
const WORDS = DATA.words;
const WORD_FIELDS = ["suite", "task", "partition", "perturbation", "outcome", "reason", "instruction", "message", "version"];

function makeRun({ label, path, policy, columns, details, films }) {
  const size = columns.index.length;
  const ids = new Array(size);
  const rows = new Map();
  for (let row = 0; row < size; row++) {
    const change = WORDS[columns.perturbation[row]];
    const repeat = columns.repeat[row];
    ids[row] = `${WORDS[columns.suite[row]]}/${WORDS[columns.task[row]]}-${WORDS[columns.partition[row]]}` +
      `-${String(columns.index[row]).padStart(2, "0")}${change ? `-${change}` : ""}${repeat ? `-r${repeat}` : ""}`;
    rows.set(ids[row], row);
  }
  return { label, path, policy, columns, size, ids, rows, details: new Set(details), films: new Set(films) };
}

const RUNS = DATA.runs.map(makeRun);
const [RUN, OTHER] = RUNS;

const word = (run, field, row) => WORDS[run.columns[field][row]];

function episodeAt(run, row) {
  const episode = { id: run.ids[row], row };
  for (const [name, column] of Object.entries(run.columns)) {
    episode[name] = WORD_FIELDS.includes(name) ? WORDS[column[row]] : column[row];
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

// What became of an episode between the other run and this one.
function makeFlips() {
  const flips = new Array(RUN.size).fill("");
  if (!OTHER) return flips;
  for (let row = 0; row < RUN.size; row++) {
    const before = OTHER.rows.get(RUN.ids[row]);
    if (before === undefined) { flips[row] = "only here"; continue; }
    const [old, now] = [word(OTHER, "outcome", before), word(RUN, "outcome", row)];
    if (old === now) flips[row] = "same";
    else if (old === "error" || now === "error") flips[row] = "error";
    else if (OTHER.columns.initial_digest[before] !== RUN.columns.initial_digest[row]) flips[row] = "other scene";
    else flips[row] = now === "solved" ? "gained" : "lost";
  }
  return flips;
}

const FLIPS = makeFlips();
