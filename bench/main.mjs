/**
 * `npm run bench -- NAME [--quick]`: measures one thing and prints a table. It runs the built package
 * (`npm run build`).
 */
const benches = {
  builds:
    "another build of Pawl beside this one: the import, the first steps of a process, and later steps (--beside FOLDER --node PATH)",
  "days-work":
    "a day's work in a terminal, by script: its bill, its questions and its waits; ends with 1 if anything is lost or done twice",
  economy:
    "what sessions and 400 tools cost with the prompt caches of Claude and GPT, billed by their documented rules; ends with 1 if a target is missed",
  evals:
    "ten faults in 100 recorded sessions: what replays, steps and whole plays find, false alarms, model calls, and what happens outside",
  "first-frame": "how soon the prompt of the conversation is there, and a message can be sent, beside Node's own start",
  history:
    "10,000 steps and 10,000 runs with a small window on SQLite: cost of a step, of a run's start, of a reconnect",
  inspector:
    "the inspector's script, a session of 10,000 steps on screen and scrolled in Chromium, and what it asks for over HTTP",
  layout: "how the rows of commits lie in a SQLite file: bytes and time of a commit, alone and in groups, and reads",
  lists: "lists of 1,000 to 100,000 sessions in one SQLite file, with and without filters",
  loop: "µs a step and deltas a second, on each store, beside a bare loop over the same model",
  hooks: "what 1, 10 and 50 hooks and observers add to a step, and what prompts and hooks add to the first",
  parked:
    "runs that wait for a person in one SQLite file: to list them, to answer one, memory and bytes held (--store postgres://…: there)",
  peers: "other agent loops at the same work (--only W1,W2 --peers pawl,pi --node 20,24 --out FOLDER)",
  postgres:
    "PostgreSQL: commits of one session and of 100 beside the bare rows, and the statements of a step (--store postgres://…)",
  screen:
    "the conversation's screen: bytes of a frame and of a tick of the spinner, an output of 100,000 lines beside a plain pass",
  terminal:
    "the conversation under load, on a pseudo-terminal: how soon a key is shown, and the most memory; ends with 1 if a key is too slow under load",
  restate: "runs that Restate dispatches beside Pawl's own worker, on one store (--store postgres://…)",
  retention:
    "a PostgreSQL database of 10,000 to 1,000,000 rows: a run, lists, pruning (--store postgres://…, an empty one)",
  server:
    "reconnects and pages over HTTP, many watchers, idle ones, a watched run, the way of a delta (--only fanOut,idle; --write: into the docs)",
  sandbox: "the start of a command in the sandbox, beside one without",
  search: "search_files on 100,000 files with ripgrep and without it, beside rg and grep -r",
  start: "CPU and time of the start of each command, after Node's own (--dist FOLDER: another build of Pawl)",
  sleepers:
    "tools that sleep and wait: memory and timers held, a look for due sessions and a signal among 1,000 and 1,000,000 of them",
  "store-calls":
    "what the store is asked for one call that needs approval, in order (--dist FOLDER: another build of Pawl)",
  workers:
    "worker processes on PostgreSQL: four beside one, and how soon a killed one is followed (--store postgres://…)",
  "worst-input": "the worst inputs of each built-in tool beside an abort: how soon the run ends, and the longest block",
  profile: "where the time of a step and the memory of a waiting run go (--only W1,W4,W5,sessions)",
};

const [name, ...options] = process.argv.slice(2);
if (!Object.hasOwn(benches, name ?? "")) {
  console.error("Usage: npm run bench -- NAME [--quick] [--json]\n");
  for (const [known, what] of Object.entries(benches)) console.error(`  ${known.padEnd(13)}${what}`);
  process.exit(2);
}
const { run } = await import(`./${name}.mjs`);
const rest = options.filter((option) => option !== "--quick" && option !== "--json");
await run({ quick: options.includes("--quick"), json: options.includes("--json"), rest });
