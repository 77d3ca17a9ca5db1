/**
 * Texts of context sources belong to a run and to an agent, whoever has the session in between.
 */
import { expect, test } from "vitest";
import type { ContextSource } from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { collect, filterEvents, filterEventsOfType } from "../support/agents.js";
import { createHandoffDesk, toBilling, toTriage } from "../support/handoff-desk.js";
import { verifies } from "../verifies.js";

const proven = verifies("CTX-11", "AGENT-1");

/** A text that is another one at each load. */
function edited(of: string): { readonly source: ContextSource; readonly loads: () => number } {
  let loads = 0;
  const load = () => {
    loads += 1;
    return [{ name: of, path: `/${of}`, text: `The ${of}, version ${loads}.`, trust: "user" as const }];
  };
  return { source: { name: of, load }, loads: () => loads };
}

const versionsIn = (prompt: string | undefined) => prompt?.match(/The \w+, version \d+\./g) ?? [];

test(
  "an agent that gets its session back loads its texts anew, and the other one sees none of them",
  proven,
  async () => {
    const rules = edited("rules");
    const { triage, models, store } = createHandoffDesk({
      triage: [toBilling, { text: "Done." }],
      billing: [toTriage],
      options: { triage: { context: { sources: [rules.source] } } },
    });
    await triage.run("Go", { sessionId: "s" });
    expect(rules.loads()).toBe(2);
    expect(models.triage.requests.map(({ systemPrompt }) => versionsIn(systemPrompt))).toEqual([
      ["The rules, version 1."],
      ["The rules, version 2."],
    ]);
    expect(models.billing.requests.map(({ systemPrompt }) => versionsIn(systemPrompt))).toEqual([[]]);
    const made = await collect(modelRequests(store, "s"));
    expect(made.map(({ systemPrompt }) => versionsIn(systemPrompt).length)).toEqual([1, 0, 1]);
  },
);

test("a replay that asks no filter gives the next agent none of the texts of the one before", proven, async () => {
  const made: { readonly agents: ReturnType<typeof createHandoffDesk> } = {
    agents: createHandoffDesk({
      triage: [toBilling],
      billing: [{ text: "Done." }],
      options: {
        triage: {
          context: { sources: [edited("rules").source] },
          handoffs: [
            {
              name: "billing",
              description: "Payments.",
              agent: () => made.agents.billing,
              filter: ({ messages }) => messages,
            },
          ],
        },
      },
    }),
  };
  await made.agents.triage.run("Go", { sessionId: "s" });
  expect((await made.agents.triage.session("s").replay()).difference).toBeNull();
});

test(
  "a run that begins with another agent does not compare its texts with those of the agent before",
  proven,
  async () => {
    const { triage, store } = createHandoffDesk({
      triage: [{ text: "Done." }],
      billing: [{ text: "Done." }, { text: "Done." }],
      options: {
        triage: { context: { sources: [edited("rules").source] } },
        billing: { context: { sources: [edited("prices").source] } },
      },
    });
    await triage.run("Go", { sessionId: "s" });
    const told = [];
    for (const runId of ["with another agent", "with the same agent"]) {
      const named = runId === "with another agent" ? { agent: "billing" } : {};
      const events = filterEvents(await collect(triage.runStream("Go", { sessionId: "s", runId, ...named })));
      told.push(filterEventsOfType(events, "sources_changed").map(({ changes }) => changes));
    }
    expect(told).toEqual([[], [[{ name: "prices", path: "/prices", change: "changed" }]]]);
    const named = (await store.read("s")).flatMap(({ event }) => (event.type === "prepared" ? [event.sources] : []));
    expect(named.map((list) => list?.map(({ name }) => name))).toEqual([["rules"], ["prices"], ["prices"]]);
  },
);
