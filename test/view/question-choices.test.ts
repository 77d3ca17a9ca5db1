/**
 * The answers to a waiting call: every front end that asks a person offers those of the table, with its keys and words.
 */
import { describe, expect, test } from "vitest";
import { toDecision as toCommandDecision } from "../../src/cli/commands/approve-deny.js";
import {
  initialAnswerState,
  listAnswerKeys,
  pressAnswer,
  submitAnswer,
} from "../../src/cli/conversation/fronts/answering.js";
import type { OpenQuestion } from "../../src/cli/conversation/view/questions.js";
import { parseReply } from "../../src/cli/decisions/ask-approval.js";
import type { PendingCall } from "../../src/cli/decisions/pending-calls.js";
import { sendDecision } from "../../src/cli/decisions/send-decision.js";
import { type ApprovalDecision, createAgent, defineTool, type PendingApproval } from "../../src/index.js";
import type { WaitingCall } from "../../src/inspector/state/app-state.js";
import { listChoices } from "../../src/inspector/state/decisions.js";
import { createPermissionRequest, toChoice } from "../../src/protocols/acp/permission.js";
import { createForm, toDecision as toFormDecision } from "../../src/protocols/approval-forms.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { answers, listAnswerChoices } from "../../src/view/question-choices.js";

type Why = PendingApproval["why"];

const reasons: readonly Why[] = ["policy", "provider", "recovery", "tool", "external"];

const asked = {
  sessionId: "s",
  runId: "r",
  callKey: "r/1/1",
  toolCallId: "c",
  name: "pay",
  input: { cents: 7 },
  askedAt: 0,
};

const approvalOf = (why: Why): PendingApproval => ({ ...asked, why });

const pendingOf = (why: Why): PendingCall => ({
  ...approvalOf(why),
  id: "s/1/1",
  session: { agent: "a", model: "m" },
  waitsSince: 0,
});

/** What the person adds in these tests. */
const text = "because";
const value = { cents: 8 };

/** The decisions of the table; an answer with a text is given without one, and one that is a value with the value. */
function decisionsOf(why: Why, shown: (name: string) => boolean = () => true): readonly ApprovalDecision[] {
  return listAnswerChoices(why)
    .filter(({ name }) => shown(name))
    .map((choice) =>
      choice.takes === "nothing" ? choice.decide() : choice.takes === "text" ? choice.decide("") : choice.decide(value),
    );
}

/** The decision that each key of the terminal makes. */
function pressEach(why: Why): readonly ApprovalDecision[] {
  const question = approvalOf(why) as OpenQuestion;
  return listAnswerKeys(question, initialAnswerState).flatMap(({ key }) => {
    if (["?", "r", "a"].includes(key) && why !== "recovery") return [];
    const pressed = pressAnswer(key, initialAnswerState, question);
    if (pressed?.type === "decision") return [pressed.decision];
    if (pressed?.type !== "go") return [];
    const written = submitAnswer(JSON.stringify(why === "policy" ? value.cents : value), pressed.to, question);
    if (written?.type === "decision") return [written.decision];
    if (written?.type !== "edited") return [];
    const allowed = pressAnswer("y", { mode: "choose", edited: written.input }, question);
    return allowed?.type === "decision" ? [allowed.decision] : [];
  });
}

/** The result of a call that runs elsewhere is plain text in the terminal. */
const writtenAs = (decisions: readonly ApprovalDecision[]) =>
  decisions.map((one) =>
    one.type === "result" && one.output === JSON.stringify(value) ? { ...one, output: value } : one,
  );

describe.each(reasons)("a call that waits for %s", (why) => {
  const approval = approvalOf(why);

  test("has the same answers in the terminal", () => {
    expect(writtenAs(pressEach(why))).toEqual(decisionsOf(why));
  });

  test("has the same keys and words in pawl run", () => {
    for (const choice of listAnswerChoices(why))
      for (const typed of [choice.key, choice.word, choice.word.toUpperCase()]) {
        const added = choice.takes === "value" && choice.name !== "edit" ? ` ${text}` : "";
        expect(parseReply(`${typed}${added}`, approval)?.choice.name, typed).toBe(choice.name);
      }
  });

  test("has the same answers, keys and titles in the page", () => {
    const choices = listChoices({ ...approval, tool: null } as unknown as WaitingCall);
    expect(choices.map(({ name, key, title }) => ({ name, key, title }))).toEqual(
      listAnswerChoices(why).map(({ name, key, title }) => ({ name, key, title })),
    );
  });

  test("has those that need no writing in an editor", () => {
    const { options } = createPermissionRequest("s", approval, "/");
    const made = options.map(({ optionId }) => toChoice({ outcome: "selected", optionId }, why)?.decision);
    const shown = listAnswerChoices(why).filter(({ takes }) => takes !== "value");
    expect(options.map(({ name }) => name)).toEqual(shown.map(({ title }) => title));
    expect(made).toEqual(decisionsOf(why, (name) => shown.some((one) => one.name === name)));
  });
});

test.each(["policy", "provider", "recovery"] as const)("a form for %s has the same answers", (why) => {
  const form = createForm(approvalOf(why))?.requestedSchema as {
    properties: { decision: { enum: readonly string[] } };
  };
  const names = form.properties.decision.enum;
  const made = names.map((decision) => toFormDecision({ action: "accept", content: { decision } }, approvalOf(why)));
  expect(made).toEqual(decisionsOf(why, (name) => name !== "edit"));
});

test("pawl approve and pawl deny make the same decisions", async () => {
  const decide = (why: Why, verb: "approve" | "deny", options: Parameters<typeof toCommandDecision>[2] = {}) =>
    toCommandDecision(verb, pendingOf(why), options);
  expect(await decide("policy", "approve")).toEqual(answers.allow.decide());
  expect(await decide("policy", "deny", { note: text })).toEqual(answers.deny.decide(text));
  expect(await decide("policy", "approve", { input: JSON.stringify(value) })).toEqual(answers.edit.decide(value));
  expect(await decide("recovery", "approve", { result: text })).toEqual(answers.done.decide(text));
  expect(await decide("recovery", "deny", { failed: true })).toEqual(answers.failed.decide(""));
  expect(await decide("recovery", "approve", { rerun: true })).toEqual(answers.again.decide());
  expect(await decide("tool", "approve", { reply: JSON.stringify(value) })).toEqual(answers.reply.decide(value));
  expect(await decide("tool", "deny")).toEqual(answers.decline.decide(""));
  expect(await decide("external", "approve", { result: text })).toEqual(answers.result.decide(text));
  expect(await decide("external", "deny")).toEqual(answers.undone.decide(""));
});

describe("an interrupted call", () => {
  const approval = approvalOf("recovery");

  test("has no yes and no no in any front end", () => {
    for (const key of ["y", "n"]) {
      expect(pressAnswer(key, initialAnswerState, approval as OpenQuestion)).toBeNull();
      expect(parseReply(key, approval)).toBeNull();
      expect(listChoices({ ...approval, tool: null } as unknown as WaitingCall).map((one) => one.key)).not.toContain(
        key,
      );
    }
    for (const optionId of ["allow", "deny", "reject", "approve"])
      expect(toChoice({ outcome: "selected", optionId }, "recovery")).toBeNull();
    for (const decision of ["allow", "deny", "yes"])
      expect(toFormDecision({ action: "accept", content: { decision } }, approval)).toBeNull();
    expect(toFormDecision({ action: "decline" }, approval)).toBeNull();
    for (const verb of ["approve", "deny"] as const)
      expect(() => toCommandDecision(verb, pendingOf("recovery"), {})).toThrow("cannot settle call");
  });
});

test.each([
  ["y", "allow", ""],
  [" YES ", "allow", ""],
  ["n", "deny", ""],
  ["no, use tabs instead", "deny", "use tabs instead"],
  ["n because", "deny", "because"],
  ["e", "edit", ""],
  ["always", "always", ""],
])("the line %j answers an approval", (line, name, added) => {
  expect(parseReply(line, { why: "policy" })).toMatchObject({ choice: { name }, text: added });
});

test.each(["", "yes but only once", "yep", "always not", "nothing", "edit it", "d"])(
  "the line %j answers no approval",
  (line) => {
    expect(parseReply(line, { why: "policy" })).toBeNull();
  },
);

test.each(["e", "edit", "a", "always"])("the line %j does not answer a call of the provider", (line) => {
  expect(parseReply(line, { why: "provider" })).toBeNull();
});

test.each([
  ["t it is booked", { outcome: "ok", output: { type: "text", value: "it is booked" } }],
  ["f no room", { outcome: "error" }],
])("the line %j settles a call that runs elsewhere", async (line, expected) => {
  const outside = defineTool({ name: "book", description: "Books.", input: { type: "object" } });
  const model = createScriptedModel([{ calls: [{ name: "book", input: {} }] }, { text: "Done." }]);
  const agent = createAgent({ model, tools: [outside] });
  const waiting = await agent.run("Go", { sessionId: "s" });
  const [asked] = waiting.status === "awaiting_human" ? waiting.approvals : [];
  const reply = asked === undefined ? null : parseReply(line, asked);
  if (asked === undefined || reply === null || reply.choice.takes === "nothing") throw new Error("Nothing is asked.");
  const session = agent.session("s");
  expect(await sendDecision(session, asked, reply.choice.decide(reply.text), "ada")).toBe("first");
  expect(await session.resume()).toMatchObject({ status: "completed" });
  const results: unknown[] = [];
  for await (const item of session.events({ follow: false })) if (item.type === "tool_result") results.push(item);
  expect(results).toMatchObject([{ outcome: expected.outcome }]);
});
