import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as bytes from "../../src/platform/bytes.js";
import * as hash from "../../src/platform/hash.js";
import * as holder from "../../src/platform/holder.js";
import * as process_ from "../../src/platform/process.js";
import * as runBounded from "../../src/platform/run-bounded.js";
import * as webBytes from "../../src/platform/web/bytes.js";
import * as webHash from "../../src/platform/web/hash.js";
import * as webHolder from "../../src/platform/web/holder.js";
import * as webProcess from "../../src/platform/web/process.js";
import * as webRunBounded from "../../src/platform/web/run-bounded.js";

const texts = fc.string({ unit: "binary", maxLength: 300 });
const someBytes = fc.uint8Array({ maxLength: 300 });

describe("the twins of the platform, which have Web APIs only", () => {
  test("give what Node's modules give, name by name", () => {
    expect(Object.keys(webBytes)).toEqual(Object.keys(bytes));
    expect(Object.keys(webHash)).toEqual(Object.keys(hash));
    expect(Object.keys(webHolder)).toEqual(Object.keys(holder));
    expect(Object.keys(webProcess)).toEqual(Object.keys(process_));
    expect(Object.keys(webRunBounded)).toEqual(Object.keys(runBounded));
  });

  test("stand beside the module that they replace, and each module of the platform that needs Node has one", () => {
    const twins = readdirSync("src", { recursive: true, encoding: "utf8" }).filter(
      (file) => /\/web\/.*\.ts$/.test(file) && !file.startsWith("tools/web/"),
    );
    for (const twin of twins) {
      const replaced = join("src", dirname(dirname(twin)), twin.slice(twin.lastIndexOf("/") + 1));
      expect(existsSync(replaced), replaced).toBe(true);
    }
    for (const file of readdirSync("src/platform").filter((name) => name.endsWith(".ts"))) {
      const needsNode = /"node:|\b(?:process|Buffer)\b/.test(readFileSync(join("src/platform", file), "utf8"));
      expect(twins.includes(`platform/web/${file}`), file).toBe(needsNode);
    }
  });

  test("hash as Node does", () => {
    fc.assert(
      fc.property(texts, someBytes, (text, data) => {
        expect(webHash.sha256(text)).toBe(hash.sha256(text));
        expect(webHash.sha256(data)).toBe(hash.sha256(data));
        expect(webHash.sha256(data.subarray(1))).toBe(hash.sha256(data.subarray(1)));
        expect(webHash.hmacSha256(text, "a call")).toBe(hash.hmacSha256(text, "a call"));
        expect(webHash.hmacSha256("a session", text)).toBe(hash.hmacSha256("a session", text));
      }),
    );
  });

  test("count and code bytes as Node does", () => {
    fc.assert(
      fc.property(texts, someBytes, (text, data) => {
        expect(webBytes.byteLength(text)).toBe(bytes.byteLength(text));
        const coded = bytes.encodeBase64(data);
        expect(webBytes.encodeBase64(data)).toBe(coded);
        for (const form of [coded, coded.replaceAll("=", ""), coded.replace(/(.{8})/g, "$1\r\n")])
          expect(Array.from(webBytes.decodeBase64(form))).toEqual(Array.from(data));
        const forPaths = Buffer.from(data).toString("base64url");
        expect(Array.from(webBytes.decodeBase64(forPaths))).toEqual(Array.from(data));
      }),
    );
    expect(webBytes.encodeBase64(new Uint8Array(1_000_000))).toBe(bytes.encodeBase64(new Uint8Array(1_000_000)));
    expect(webBytes.decodeBase64("A").length).toBe(bytes.decodeBase64("A").length);
  });

  test("know a holder that nobody takes for dead, and no two that are one", () => {
    const [first, second] = [webHolder.createHolder(), webHolder.createHolder()];
    expect(first.id).toMatch(/^[0-9a-f]{32}$/);
    expect(first.id).not.toBe(second.id);
    for (const isHolderDead of [holder.isHolderDead, webHolder.isHolderDead]) {
      expect(isHolderDead(first)).toBe(false);
      expect(isHolderDead({ ...first, startedAt: 1 })).toBe(false);
    }
  });

  test("call back in a later turn", async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      webProcess.scheduleNextTurn(() => {
        order.push("next turn");
        resolve();
      });
      queueMicrotask(() => order.push("this turn"));
    });
    expect(order).toEqual(["this turn", "next turn"]);
    webProcess.startIdleTimer(60_000, () => order.push("never"))();
  });
});
