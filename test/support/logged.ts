/**
 * A model, a tool and a store that write what is done to them into one list, for tests of the order of things.
 */
import { type AnyTool, createMemoryStore, defineTool, type Model, type Store } from "../../src/index.js";

/** `model`, or what the test says of the request. */
export function createLoggedModel(
  log: string[],
  inner: Model,
  formatEntry: (...args: Parameters<Model["stream"]>) => string,
): Model {
  return {
    id: "m",
    stream(request, signal) {
      log.push(formatEntry(request, signal));
      return inner.stream(request, signal);
    },
  };
}

/** The tool `work`: `validate INPUT`, then `run`. */
export function createLoggedTool(log: string[], overrides: Partial<AnyTool> = {}): AnyTool {
  const tool = defineTool({
    name: "work",
    description: "Works.",
    input: {
      "~standard": {
        version: 1,
        vendor: "test",
        validate(value) {
          log.push(`validate ${JSON.stringify(value)}`);
          return { value };
        },
        jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
      },
    },
    execute() {
      log.push("run");
      return "ok";
    },
  });
  return { ...tool, ...overrides };
}

/** A store in memory: `commit EVENTS`, once that is done. */
export function createLoggedStore(log: string[]): Store {
  const inner = createMemoryStore();
  return {
    ...inner,
    async commit(lease, commit) {
      const result = await inner.commit(lease, commit);
      log.push(`commit ${commit.events.map((event) => event.type).join(" ")}`);
      return result;
    },
  };
}
