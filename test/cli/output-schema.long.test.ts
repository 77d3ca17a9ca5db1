/**
 * `pawl run --output-schema`: the answer as data, for scripts.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Script, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { createWorld, parseJsonLines } from "./pawl.js";

const schema = {
  type: "object",
  properties: { title: { type: "string" }, lines: { type: "integer" } },
  required: ["title", "lines"],
  additionalProperties: false,
};
const model = ["--model", "openai-compatible/test"];
const command = ["run", "Which is the longest?", "--output-schema", "report.json", ...model];
const answer = (text: string) => ({ type: "answer", text }) as const;

async function startWorld(script: Script) {
  const server = await startProviderServer("openai-chat", script);
  onTestFinished(() => server.close());
  const world = createWorld({ "a.txt": "one\n", "report.json": JSON.stringify(schema) });
  return { ...world, server, env: { OPENAI_BASE_URL: server.baseURL } };
}

describe("pawl run --output-schema", () => {
  test("prints one line of JSON that fits, whatever the model wrote around it", verifies("CLI-1"), async () => {
    const { pawl, server, env } = await startWorld([
      { type: "answer", text: "I look first.", calls: [{ name: "read_file", input: { path: "a.txt" } }] },
      answer('```json\n{\n  "title": "a\u202e.txt",\n  "lines": 1\n}\n```'),
    ]);
    const { code, stdout, stderr } = await pawl(command, { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"title":"a\\u202e.txt","lines":1}\n' });
    expect(stderr).toContain("I look first.");
    expect(JSON.stringify(server.requests[0]?.body)).toContain('\\"lines\\"');
  });

  test(
    "sends an answer that does not fit back once, and then ends with 4 and nothing on stdout",
    verifies("CLI-3"),
    async () => {
      const { pawl, server, env } = await startWorld([answer("It is a.txt."), answer('{"title":"a.txt"}')]);
      const { code, stdout, stderr } = await pawl([...command, "--session", "s"], { env });
      expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
      expect(server.requests).toHaveLength(2);
      expect(stderr).toContain('{"title":"a.txt"}');
      expect(stderr).toMatch(/failed \(invalid_output\).*lines/);
      expect(stderr).toContain('To continue: pawl run --session s "Go on"');
    },
  );

  test("prints no summary on stdout at a limit of steps", verifies("CLI-3"), async () => {
    const { pawl, env } = await startWorld([
      { type: "answer", text: "I look first.", calls: [{ name: "read_file", input: { path: "a.txt" } }] },
      answer("I only looked."),
    ]);
    const { code, stdout, stderr } = await pawl([...command, "--max-steps", "1"], { env });
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toContain("I only looked.");
  });

  test("uses the answer that was repaired", verifies("CLI-1"), async () => {
    const { pawl, env } = await startWorld([answer("It is a.txt."), answer('{"title":"a.txt","lines":1}')]);
    expect(
      await pawl([...command, "--json"], { env }).then(({ stdout }) => parseJsonLines(stdout).at(-1)),
    ).toMatchObject({
      type: "final",
      result: { status: "completed", output: { title: "a.txt", lines: 1 } },
    });
  });

  test("is kept by a run that waits and is resumed", verifies("CLI-4#part-1"), async () => {
    const { pawl, env } = await startWorld([
      { type: "answer", calls: [{ name: "write_file", input: { path: "b.txt", content: "x" } }] },
      answer('{ "title": "a.txt", "lines": 1 }'),
    ]);
    expect(await pawl([...command, "--park", "--session", "s"], { env })).toMatchObject({ code: 3, stdout: "" });
    expect(await pawl(["approve", "s"])).toMatchObject({ code: 0 });
    expect(await pawl(["resume", "s", ...model], { env })).toMatchObject({
      code: 0,
      stdout: '{"title":"a.txt","lines":1}\n',
    });
  });

  test("prints no prose on stdout if a resumed run gives no answer that fits", verifies("CLI-3"), async () => {
    const { pawl, env } = await startWorld([
      { type: "answer", calls: [{ name: "write_file", input: { path: "b.txt", content: "x" } }] },
      answer("It is a.txt."),
      answer("It is still a.txt."),
    ]);
    expect(await pawl([...command, "--park", "--session", "s"], { env })).toMatchObject({ code: 3, stdout: "" });
    expect(await pawl(["approve", "s"])).toMatchObject({ code: 0 });
    expect(await pawl(["resume", "s", ...model], { env })).toMatchObject({ code: 4, stdout: "" });
  });

  test.each([
    ["there is no such file", null],
    ["it is not valid JSON", "{"],
    ["it is not an object", "[]"],
    ['its type must be "object"', '{"type":"string"}'],
    ["it is larger than", " ".repeat(70_000)],
    ["properties", '{"type":"object","properties":3}'],
  ])("ends with 2 before any model call if %s", verifies("CLI-3"), async (why, text) => {
    const { pawl, root, server, env } = await startWorld([]);
    if (text !== null) writeFileSync(join(root, "bad.json"), text);
    const { code, stdout, stderr } = await pawl(["run", "Go", "--output-schema", "bad.json", ...model], { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("bad.json");
    expect(stderr).toContain(why);
    expect(server.requests).toHaveLength(0);
  });
});
