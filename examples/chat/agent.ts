/**
 * The agent behind the page: it works on the notes in a folder, and publishes them on a board.
 */
import { appendFile, cp, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { jsonSchema } from "ai";
import { createAgent, type InferUiTools } from "pawl";
import { chooseModel } from "pawl/models";
import { openSqliteStore } from "pawl/sqlite";
import { askPerson, createFileTools, defineTool } from "pawl/tools";

const secondsToThink = Number(process.env.PUBLISH_AFTER ?? 3);

export async function openAgent() {
  const data = process.env.CHAT_DATA ?? fileURLToPath(new URL("../../data", import.meta.url));
  const notes = join(data, "notes");
  await mkdir(data, { recursive: true });
  await cp(fileURLToPath(new URL("../../notes", import.meta.url)), notes, { recursive: true, force: false });
  const store = await openSqliteStore({ path: join(data, "sessions.db") });
  const { model, why } = await chooseModel(); // a key in the environment, a local server, or the demo model
  const publish = createPublishTool(notes, join(data, "board.md"));
  const agent = createAgent({
    name: "notes",
    model,
    store,
    systemPrompt: "You look after a folder of notes. Read before you answer, and keep answers short.",
    tools: [...createFileTools({ root: notes }), publish, askPerson()],
    canExecuteTool: ({ tool }) => (tool.readOnly === true ? "allow" : "ask"),
  });
  return { agent, store, why, uiTools: [publish] };
}

/** The tools whose calls the page knows by type. */
export type UiTools = InferUiTools<readonly ReturnType<typeof createPublishTool>[]>;

/** Publishing twice would show: after a crash in the middle, a person says whether it has happened. */
function createPublishTool(notes: string, board: string) {
  return defineTool({
    name: "publish",
    description: "Publishes a note on the board, for everybody to read.",
    input: jsonSchema<{ note: string }>({
      type: "object",
      properties: { note: { type: "string", pattern: "^[\\w-]+\\.md$", description: "The file of the note." } },
      required: ["note"],
      additionalProperties: false,
    }),
    recover: "ask",
    async execute({ note }, { progress, signal }) {
      const text = await readFile(join(notes, note), "utf8");
      for (let left = secondsToThink; left > 0; left -= 1) {
        progress(`On the board in ${left} s. Stop the run to keep it off.`);
        await sleep(1_000, undefined, { signal });
      }
      await appendFile(board, `## ${note}\n\n${text.trim()}\n\n`);
      return `${note} is on the board.`;
    },
  });
}
