/**
 * The built-in context manager.
 *
 * The system prompt and the data of a run stay the same and come first; hints change and come last, once each time they say
 * something else. So what a provider has cached of a conversation stays good from one call to the next.
 */
import type { UserMessage } from "../core/data/message.js";
import type { Context, ContextManager, ContextView } from "../ports/context.js";

export const contextManager: ContextManager = {
  build(view): Context {
    const systemPrompt = promptOf(view);
    const append = hintsToSay(view);
    const { messages, input, tools } = view;
    return {
      ...(systemPrompt === undefined ? {} : { systemPrompt }),
      // Nothing is copied where nobody looks: a step costs the same at the end of a long session.
      get messages() {
        return [...messages, ...input, ...append];
      },
      tools,
      append,
    };
  },
};

function promptOf({ systemPrompt, runSystemPrompt = systemPrompt, run }: ContextView): string | undefined {
  const data = Object.entries(run.data).map(([name, value]) => `${name}: ${value}`);
  if (data.length === 0) return runSystemPrompt;
  return [...(runSystemPrompt === undefined ? [] : [runSystemPrompt]), data.join("\n")].join("\n\n");
}

function hintsToSay({ hints, appended }: ContextView): readonly UserMessage[] {
  if (hints.length === 0) return none;
  const text = `[Not from the user: how things stand now.]\n${hints.map((hint) => `${hint.name}: ${hint.text}`).join("\n")}`;
  const said = appended?.[0]?.parts[0];
  if (said?.type === "text" && said.text === text) return none;
  return [{ role: "user", parts: [{ type: "text", text }] }];
}

const none: readonly UserMessage[] = [];
