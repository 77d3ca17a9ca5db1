/**
 * The floor with a bare SQLite: as many commits as Pawl makes, of rows as long as Pawl's, through the same library
 * and journal.
 */
import { join } from "node:path";
import { bareLog } from "../sqlite.mjs";
import { loop } from "./floor.mjs";

let files = 0;

export async function open(work, { folder, synchronous, shape }) {
  files += 1;
  const log = bareLog(join(folder, `bare-${files}.db`), shape, synchronous);
  const tools = { add: (input) => work.add(input) };
  return {
    async run() {
      let due = 0;
      // The loop has two places a step at which it must keep something.
      const commit = () => {
        for (due += shape.commitsPerStep / 2; due >= 1; due -= 1) log.commit();
      };
      for await (const delta of loop(work, tools, commit)) if (delta.type === "text") work.consume(delta.text);
    },
    close: () => log.close(),
  };
}
