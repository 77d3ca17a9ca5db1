/**
 * Texts of context sources that change between two runs: the system prompt stays as it is, and a message tells the change.
 */
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  type Message,
  type ModelRequest,
  type RunData,
  type SourceText,
  type Store,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool } from "../support/agents.js";
import { createHandoffDesk, toBilling, toTriage } from "../support/handoff-desk.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const proven = verifies("COST-3", "CTX-11");

const done = { text: "Done." };

type Texts = { [path: string]: string };

/** Runs of one session, each in a process of its own, with the texts that are there when it begins. */
function sessionWith(store: Store, texts: Texts, more: Partial<AgentOptions> = {}, script: Script = () => done) {
  const sent: ModelRequest[] = [];
  const load = (): readonly SourceText[] =>
    Object.entries(texts).map(([path, text]) => ({ name: "rules", path, text, trust: "project" }));
  async function play(work: (agent: ReturnType<typeof createAgent>) => Promise<unknown>) {
    const model = createScriptedModel(script);
    const { context, ...others } = more;
    const agent = createAgent({
      name: "agent",
      model,
      store,
      systemPrompt: "Be brief.",
      tools: [createEchoTool().tool],
      context: { sources: [{ name: "rules", load }], ...context },
      ...others,
    });
    await work(agent);
    await agent.shutdown();
    sent.push(...model.requests.map((request) => ({ ...request, messages: [...request.messages] })));
  }
  return {
    sent,
    play,
    run: (text: string) => play((agent) => agent.run(text, { sessionId: "s" })),
    replay: async () => {
      let difference: unknown;
      await play(async (agent) => ({ difference } = await agent.session("s").replay()));
      return difference;
    },
  };
}

const textOf = (message: Message | undefined) =>
  message?.parts.map((part) => (part.type === "text" ? part.text : part.type)).join() ?? "";
const lastOf = ({ messages }: ModelRequest) => textOf(messages.at(-1));

/** Each request begins with the request before: tools, system prompt, and all of its messages. */
function expectPrefixes(sent: readonly ModelRequest[]) {
  for (const [index, request] of sent.entries()) {
    const before = sent[index - 1];
    if (before === undefined) continue;
    expect(request.systemPrompt).toBe(before.systemPrompt);
    expect(request.tools).toEqual(before.tools);
    expect(request.messages.slice(0, before.messages.length)).toEqual(before.messages);
  }
}

describe.each(localStores)("in $name, texts that changed since the last run", ({ open }) => {
  test("are told once in the last message, and the request begins with the one before", proven, () =>
    withStore(open, async (store) => {
      const texts: Texts = { "/a": "Use tabs.", "/b": "Old." };
      const { run, sent, replay } = sessionWith(store, texts);
      await run("One");
      Object.assign(texts, { "/a": "Use spaces.", "/c": "New." });
      delete texts["/b"];
      await run("Two");
      await run("Three");
      texts["/a"] = "Use tabs.";
      await run("Four");
      expectPrefixes(sent);
      expect(sent.map(({ messages }) => messages.length)).toEqual([1, 4, 6, 9]);
      const told = lastOf(sent[1] as ModelRequest);
      expect(told).toMatch(/^\[Not from the user: texts from outside have changed\./);
      expect(told).toContain('These are gone and no longer apply: rules, "/b".');
      expect(told).toMatch(/\[begin (\w{16}): rules, "\/a", trust: project\]\nUse spaces\.\n\[end \1\]/);
      expect(told).toMatch(/\[begin (\w{16}): rules, "\/c", trust: project\]\nNew\.\n\[end \1\]/);
      expect(lastOf(sent[2] as ModelRequest)).toBe("Three");
      expect(lastOf(sent[3] as ModelRequest)).toContain("Use tabs.");
      expect(lastOf(sent[3] as ModelRequest)).not.toContain('"/c"');
      expect(await collect(modelRequests(store, "s"))).toEqual(sent);
      expect(await replay()).toBeNull();
    }),
  );

  test("are told the same in the process that carries the run on, and in a fork", proven, () =>
    withStore(open, async (store) => {
      const texts: Texts = { "/a": "Use tabs." };
      const tools = [{ ...createEchoTool().tool, needsApproval: true }];
      const script: Script = ({ messages }) =>
        textOf(messages.findLast(({ role }) => role === "user")).includes("Use spaces") &&
        messages.at(-1)?.role === "user"
          ? { calls: [{ name: "echo", input: { n: 1 } }] }
          : done;
      const { run, play, sent, replay } = sessionWith(store, texts, { tools }, script);
      await run("One");
      texts["/a"] = "Use spaces.";
      await run("Two");
      texts["/a"] = "Use neither.";
      await play(async (agent) => {
        const [asked] = await agent.session("s").pendingApprovals();
        await agent.session("s").answer(asked?.callKey ?? "", { type: "approve" });
        await agent.session("s").resume();
      });
      expect(sent).toHaveLength(3);
      expectPrefixes(sent);
      expect(await replay()).toBeNull();
      let fork = "";
      await play(async (agent) => {
        fork = (await agent.session("s").fork()).id;
        await agent.run("Three", { sessionId: fork });
      });
      expectPrefixes(sent);
      expect(lastOf(sent.at(-1) as ModelRequest)).toContain("Use neither.");
      expect((await collect(modelRequests(store, fork))).at(-1)?.messages).toEqual(sent.at(-1)?.messages);
    }),
  );

  test("are in the system prompt after a compaction", proven, () =>
    withStore(open, async (store) => {
      const texts: Texts = { "/a": "Use tabs." };
      const script: Script = ({ messages }) =>
        textOf(messages.at(-1)).includes("about to be shortened")
          ? { text: "They greeted." }
          : { text: "word ".repeat(200) };
      const { run, play, sent, replay } = sessionWith(store, texts, {}, script);
      await run("One");
      texts["/a"] = "Use spaces.";
      await run("Two");
      await play((agent) => agent.session("s").compact());
      await run("Three");
      const last = sent.at(-1) as ModelRequest;
      expect(last.systemPrompt).toContain("Use spaces.");
      expect(last.systemPrompt).not.toContain("Use tabs.");
      texts["/a"] = "Use neither.";
      await run("Four");
      expectPrefixes(sent.slice(-2));
      expect(lastOf(sent.at(-1) as ModelRequest)).toContain("Use neither.");
      expect(await replay()).toBeNull();
    }),
  );
});

describe("texts that changed", () => {
  test("do not make an unchanged hint be told again", proven, async () => {
    const texts: Texts = { "/a": "Use tabs." };
    const context = { hints: [{ name: "branch", text: () => "main" }] };
    const { run, sent } = sessionWith(createMemoryStore(), texts, { context });
    await run("One");
    texts["/a"] = "Use spaces.";
    await run("Two");
    await run("Three");
    expectPrefixes(sent);
    const said = sent
      .at(-1)
      ?.messages.map(textOf)
      .filter((text) => text.includes("branch: main"));
    expect(said).toHaveLength(1);
  });

  test.for<[string, Partial<AgentOptions>]>([
    [
      "context manager",
      {
        context: {
          manager: {
            build: ({ systemPrompt = "", tools, input, messages }) => ({
              systemPrompt,
              tools,
              append: [],
              messages: [...messages, ...input].filter(({ role }) => role === "user").slice(0, 1),
            }),
          },
        },
      },
    ],
    ["hook", { hooks: [{ name: "window", beforeLLMCall: ({ messages }) => ({ messages: messages.slice(0, 1) }) }] }],
  ])("are in the system prompt if a %s leaves the message out", proven, async ([, more]) => {
    const texts: Texts = { "/a": "Use tabs." };
    const store = createMemoryStore();
    const { run, sent } = sessionWith(store, texts, more);
    await run("One");
    texts["/a"] = "Use spaces.";
    await run("Two");
    await run("Three");
    const prompts = sent.map(({ systemPrompt = "" }) =>
      ["tabs", "spaces"].filter((word) => systemPrompt.includes(word)),
    );
    expect(prompts).toEqual([["tabs"], ["spaces"], ["spaces"]]);
    expect(await collect(modelRequests(store, "s"))).toEqual(sent);
  });

  test(
    "are in the system prompt if they are too long for a message, which says so of earlier ones",
    proven,
    async () => {
      const texts: Texts = { "/a": "Use tabs." };
      const store = createMemoryStore();
      const { run, sent, replay } = sessionWith(store, texts);
      await run("One");
      texts["/a"] = "Use spaces.";
      await run("Two");
      texts["/a"] = "Use neither. ".repeat(6_000);
      await run("Three");
      const last = sent.at(-1) as ModelRequest;
      expect(last.systemPrompt).toContain("Use neither.");
      expect(last.systemPrompt).not.toContain("Use tabs.");
      expect(lastOf(last)).toMatch(/the texts from outside in the system prompt are up to date/);
      await run("Four");
      expectPrefixes(sent.slice(-2));
      expect(lastOf(sent.at(-1) as ModelRequest)).toBe("Four");
      expect(await replay()).toBeNull();
    },
  );

  test("are in the system prompt if the store has lost what it had", proven, async () => {
    const inner = createMemoryStore();
    const texts: Texts = { "/a": "Use tabs." };
    let lost = false;
    const store: Store = { ...inner, getBlob: async (id, hash) => (lost ? null : inner.getBlob(id, hash)) };
    const { run, sent } = sessionWith(store, texts);
    await run("One");
    texts["/a"] = "Use spaces.";
    lost = true;
    await run("Two");
    expect(sent[1]?.systemPrompt).toContain("Use spaces.");
    expect(lastOf(sent[1] as ModelRequest)).toBe("Two");
  });

  test(
    "while another agent had the session are in the system prompt, and earlier messages no longer count",
    proven,
    async () => {
      let version = 0;
      const load = () => {
        version += 1;
        return [{ name: "rules", path: "/rules", text: `Version ${version}.`, trust: "user" as const }];
      };
      const { triage, models, store } = createHandoffDesk({
        triage: [{ text: "Done." }, toBilling, { text: "Done." }],
        billing: [toTriage],
        options: { triage: { context: { sources: [{ name: "rules", load }] } } },
      });
      await triage.run("One", { sessionId: "s" });
      await triage.run("Two", { sessionId: "s" });
      const [first, second, last] = models.triage.requests as readonly ModelRequest[];
      expect(second?.systemPrompt).toBe(first?.systemPrompt);
      expect(lastOf(second as ModelRequest)).toContain("Version 2.");
      expect(last?.systemPrompt).toContain("Version 3.");
      expect(lastOf(last as ModelRequest)).toMatch(/replace those in earlier messages/);
      expect((await triage.session("s").replay()).difference).toBeNull();
      expect((await collect(modelRequests(store, "s"))).at(-1)?.messages).toEqual(last?.messages);
    },
  );
});

describe("a context source", () => {
  const begun: Script = ({ messages }) =>
    textOf(messages.at(-1)).includes("about to be shortened")
      ? { text: "They greeted." }
      : { text: "word ".repeat(200) };

  test("can give a text of the session's start in every later run, process and fork", proven, async () => {
    const store = createMemoryStore();
    const seen: (readonly SourceText[] | undefined)[] = [];
    let day = 0;
    const sources = [
      {
        name: "start",
        load: (_: RunData, { earlier }: { readonly earlier?: readonly SourceText[] }): readonly SourceText[] => {
          seen.push(earlier);
          day += 1;
          const text = `Begun on day ${day}.`;
          return earlier ?? [{ name: "start", path: "/", text, trust: "author" }];
        },
      },
    ];
    const { run, play, sent, replay } = sessionWith(store, {}, { context: { sources } }, begun);
    await run("One");
    await run("Two");
    let fork = "";
    await play(async (agent) => {
      fork = (await agent.session("s").fork()).id;
      await agent.run("Three", { sessionId: fork });
    });
    await play((agent) => agent.session("s").compact());
    await run("Four");
    await run("Five");
    const steps = sent.filter(({ systemPrompt = "" }) => systemPrompt.startsWith("Be brief."));
    expect(steps.map(({ systemPrompt = "" }) => /Begun on day \d+\./.exec(systemPrompt)?.[0])).toEqual(
      Array.from({ length: 5 }, () => "Begun on day 1."),
    );
    expect(new Set(steps.map(({ systemPrompt }) => systemPrompt)).size).toBe(1);
    const given = [{ name: "start", path: "/", text: "Begun on day 1.", trust: "author" }];
    expect(seen).toEqual([undefined, given, given, given, given]);
    expect(await replay()).toBeNull();
    expect(seen).toHaveLength(5);
    expect((await collect(modelRequests(store, "s"))).map(({ systemPrompt }) => systemPrompt)).toContain(
      steps[0]?.systemPrompt,
    );
    expect((await collect(modelRequests(store, fork))).at(-1)).toEqual(steps[2]);
  });

  test("that a session got later learns that its prompt has no texts", proven, async () => {
    const store = createMemoryStore();
    const agentOf = (context: AgentOptions["context"]) =>
      createAgent({
        name: "agent",
        store,
        model: createScriptedModel(begun),
        ...(context === undefined ? {} : { context }),
      });
    await agentOf(undefined).run("One", { sessionId: "s" });
    const seen: unknown[] = [];
    const load = (_: RunData, { earlier }: { readonly earlier?: readonly SourceText[] }) => {
      seen.push(earlier);
      return [];
    };
    const agent = agentOf({ sources: [{ name: "start", load }] });
    await agent.run("Two", { sessionId: "s" });
    await agent.session("s").compact();
    await agent.run("Three", { sessionId: "s" });
    expect(seen).toEqual([[], []]);
  });
});
