import { expect, onTestFinished, test } from "vitest";
import { createWorld } from "../cli/pawl.js";
import { startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl } from "./pseudo-terminal.js";

test(
  "what is typed before the program is loaded is sent, or stays in the draft",
  verifies("CHAT-1#first-frame"),
  async () => {
    const world = createWorld();
    const server = await startProviderServer("openai-chat", [{ type: "answer", text: "First answer." }]);
    onTestFinished(() => server.close());
    const person = openPawl(world, ["--model", "openai-compatible/test"], { env: { OPENAI_BASE_URL: server.baseURL } });
    await person.sees(/starting…|ready/);
    person.type("hello\ra draft");
    await person.sees(/> hello[\s\S]*First answer\.[\s\S]*> a draft\nready/);
    const sent = person.bytes();
    expect(sent.indexOf("starting…")).toBeGreaterThan(-1);
    expect(sent.indexOf("starting…")).toBeLessThan(sent.indexOf("openai-compatible/test"));
    person.type("\x03\x04");
    expect(await person.ended).toMatchObject({ code: 0 });
  },
);

test(
  "the prompt is gone before a mistake is told, and Ctrl-C ends the program",
  verifies("CHAT-1#first-frame"),
  async () => {
    const world = createWorld();
    const mistaken = openPawl(world, ["--root", "nowhere", "a message"]);
    expect(await mistaken.ended).toMatchObject({ code: 2 });
    expect(await mistaken.screen()).toMatch(/^pawl: There is no folder nowhere\./);
    const person = openPawl(world, ["--model", "demo"]);
    await person.sees(/starting…|ready/);
    person.type("\x03\x03");
    expect((await person.ended).code).toBeOneOf([0, 130]);
    expect(await person.screen()).not.toContain("starting…");
  },
);
