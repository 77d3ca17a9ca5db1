/**
 * What must hold after the day: each effect is there once, each agent has begun once, and the log has every token that was billed.
 */
import { agentOf, formattedPart, journal, parts, said, steer } from "./model.mjs";

/** @returns what is wrong, in whole sentences; empty if all is as it should be */
export function findProblems({ pawl, read, list, ledger, questions, renamed, history }) {
  const sessions = readLines(pawl("sessions", "--json", "--all"));
  const logs = sessions.flatMap(({ sessionId }) => readLines(pawl("sessions", "export", sessionId)));
  const events = logs.flatMap(({ event }) => (event === undefined ? [] : [event]));
  return [
    ...checkFiles({ read, list, renamed }),
    ...checkEffects(read),
    ...checkRequests(ledger),
    ...checkScreen(history),
    ...checkQuestions(events, questions, pawl),
    ...checkUsage(events, ledger),
  ];
}

const readLines = (text) =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

const unless = (isRight, problem) => (isRight ? [] : [problem]);

function checkFiles({ read, list, renamed }) {
  const names = Array.from({ length: parts }, (_, index) => `part-${index + 1}.mjs`);
  const wrong = names.filter((name, index) => read(`root/src/parts/${name}`) !== formattedPart(index + 1));
  return [
    ...unless(wrong.length === 0, `${wrong.join(", ")} are not as the hook formats them.`),
    ...unless(list("root/src/parts").length === parts, "There are files that nobody wrote."),
    ...unless(read("root/test/parts.test.mjs") === "import '../src/report.mjs';\n", "The agent's test is not there."),
    ...unless(renamed.includes("'overview'"), "Nothing was renamed."),
    ...unless(read("root/src/report.mjs").includes("'report'"), "The undo did not take back the last edit."),
    ...unless(read("root/src/report.mjs").includes("parts"), "The undo took back more than the last edit."),
  ];
}

function checkEffects(read) {
  const linesOf = (path) => read(path).split("\n").slice(0, -1);
  const once = (path, lines) =>
    unless(
      JSON.stringify(linesOf(path).toSorted()) === JSON.stringify([...lines].toSorted()),
      `${path} has ${JSON.stringify(linesOf(path))}.`,
    );
  return [
    ...once("root/journal", journal),
    ...once("outside", ["outside"]),
    ...once("root/released", ["released"]),
    ...once("root/checked", ["checked"]),
    // Every edit: the parts, the agent's test, the report twice.
    ...unless(linesOf("formatted").length === parts + 3, `The hook ran ${linesOf("formatted").length} times.`),
  ];
}

function checkRequests(ledger) {
  const refused = ledger.filter((bill) => bill.refused !== undefined);
  const bodies = ledger.map(({ body }) => JSON.stringify([body.system, body.messages]));
  const firstOf = (agent) => ledger.filter(({ body }) => agentOf(body) === agent && body.messages.length === 1).length;
  const last = bodies.at(-1);
  const count = (text) => last.split(text).length - 1;
  return [
    ...refused.map((bill) => `The provider refused a request: ${bill.refused}`),
    ...unless(new Set(bodies).size === bodies.length, "A model call was made again."),
    ...[null, "scout", "checker"].flatMap((agent) =>
      unless(firstOf(agent) === 1, `${agent ?? "the session"} began ${firstOf(agent)} times.`),
    ),
    ...unless(count(steer) === 1, `The steer is in the conversation ${count(steer)} times.`),
    ...unless(count(", has ended (") === 1, `The end of the agent was told ${count(", has ended (")} times.`),
    ...unless(count("The test is written.") === 1, "The answer of the agent in the background was not read."),
  ];
}

function checkScreen(history) {
  return said.flatMap((text) => {
    const shown = history.filter((line) => line.trim() === text).length;
    return unless(shown === 1, `"${text}" is on the screen ${shown} times.`);
  });
}

function checkQuestions(events, questions, pawl) {
  const asked = events.filter(
    ({ type, decision }) => (type === "tool_decided" && decision.verdict === "ask") || type === "tool_asked",
  ).length;
  return [
    // Trust is not asked by a session.
    ...unless(asked === questions.length - 1, `${asked} questions were asked.`),
    ...unless(pawl("approvals", "--json").trim() === "", "A question is still open."),
  ];
}

function checkUsage(events, ledger) {
  const usage = events.filter(({ type }) => type === "model_finished").map((event) => event.usage);
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const logged = sum(usage.map(({ inputTokens }) => inputTokens));
  const billed = sum(ledger.map(({ total }) => total));
  return unless(logged === billed, `The logs have ${logged} tokens of input, and ${billed} were billed.`);
}
