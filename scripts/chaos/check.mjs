/**
 * What must hold when everything is at rest: each client's view equals the log, nothing is lost, and nothing happened twice.
 */
import { readFileSync } from "node:fs";
import { createClient } from "pawl";

/** The public events of each session, as its log gives them. */
export async function eventsOfAll(store, sessions) {
  const client = createClient({ store });
  const all = new Map();
  for (const sessionId of sessions) {
    const events = [];
    for await (const event of client.session(sessionId).events({ follow: false, after: 0 })) events.push(event);
    all.set(sessionId, events);
  }
  return all;
}

export function checkAll({ clients, logs, journal, fail }) {
  for (const [index, client] of clients.entries()) checkViews(`client ${index}`, client, logs, fail);
  const done = (name) => clients.flatMap((client) => client.done[name]);
  for (const run of done("runs")) checkRun(run, logs.get(run.sessionId), fail);
  for (const steer of done("steers")) checkSteer(steer, logs.get(steer.sessionId), fail);
  checkAnswers(done("answers"), logs, fail);
  checkJournal(readFileSync(journal, "utf8").trim().split("\n"), fail);
}

function checkViews(who, { watched }, logs, fail) {
  for (const [sessionId, { events }] of watched) {
    const expected = logs.get(sessionId).map(({ seq, index, ...rest }) => [`${seq}.${index}`, { seq, index, ...rest }]);
    const seen = events.map(({ id, data }) => [id, data]);
    const at = expected.findIndex((one, index) => plain(one) !== plain(seen[index]));
    if (at >= 0)
      fail(`${who}, ${sessionId}, event ${at + 1}: saw ${plain(seen[at])}, the log has ${plain(expected[at])}`);
    else if (seen.length > expected.length)
      fail(`${who}, ${sessionId}: saw ${seen.length} events of ${expected.length}`);
  }
}

/** With the names in order: the log and a frame may have them in another one. */
function plain(value) {
  return JSON.stringify(value, (_, one) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}

function checkRun({ sessionId, runId, text }, log, fail) {
  const count = (type) => log.filter((event) => event.type === type && event.runId === runId).length;
  if (count("run_started") > 1) fail(`${sessionId}: the run ${runId} began ${count("run_started")} times`);
  if (count("final") !== 1) fail(`${sessionId}: the run ${runId} ended ${count("final")} times`);
  const inputs = log.filter(({ type, input }) => type === "run_started" && JSON.stringify(input).includes(`"${text}"`));
  if (inputs.length > 1) fail(`${sessionId}: the input "${text}" began ${inputs.length} runs`);
}

function checkSteer({ sessionId, text, isTaken }, log, fail) {
  const count = log.filter(
    ({ type, input }) => type === "steered" && JSON.stringify(input).includes(`"${text}"`),
  ).length;
  const began = log.filter(({ type, input }) => type === "run_started" && JSON.stringify(input).includes(`"${text}"`));
  if (count + began.length > 1) fail(`${sessionId}: "${text}" came ${count + began.length} times`);
  if (isTaken && count + began.length === 0 && !log.some(({ type }) => type === "final"))
    fail(`${sessionId}: "${text}" was taken and is not in the log`);
}

function checkAnswers(answers, logs, fail) {
  const first = new Map();
  for (const { sessionId, callKey, questionId = "", type, counted } of answers) {
    if (counted !== "first") continue;
    const key = `${sessionId} ${callKey} ${questionId}`;
    const types = first.get(key) ?? [];
    first.set(key, [...types, type]);
  }
  for (const [key, types] of first) if (types.length > 1) fail(`${key}: ${types.length} answers counted as the first`);
  for (const [sessionId, log] of logs) {
    const seen = new Set();
    for (const event of log) {
      if (event.type !== "approval_answered") continue;
      const key = `${event.callKey} ${event.questionId ?? ""} ${event.attempt ?? ""}`;
      if (event.questionId !== undefined && seen.has(key)) fail(`${sessionId}: ${key} was answered twice`);
      seen.add(key);
    }
  }
}

/** `tool key attempt`, one line for each time that a tool took effect. */
export function checkJournal(lines, fail) {
  const attempts = new Set();
  const paid = new Set();
  for (const line of lines) {
    const [tool, key] = line.split(" ");
    if (tool === "step") continue;
    if (attempts.has(line)) fail(`an attempt ran twice: ${line}`);
    attempts.add(line);
    if (tool === "pay" && paid.has(key)) fail(`paid twice: ${line}`);
    if (tool === "pay") paid.add(key);
  }
}
