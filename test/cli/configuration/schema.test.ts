/**
 * The JSON Schema of the configuration and what reads the file say the same.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseConfiguration } from "../../../src/cli/configuration/configuration.js";
import { createConfigurationSchema } from "../../../src/cli/configuration/schema.js";
import { settingTable } from "../../../src/cli/configuration/setting-table.js";
import { verifies } from "../../verifies.js";

const file = "docs/pawl.config.schema.json";

test("the schema in the package is that of the table", verifies("CHAT-4#settings"), () => {
  // After a change of the table, this writes the file: PAWL_WRITE_SCHEMA=1, then npm run format.
  if (process.env.PAWL_WRITE_SCHEMA === "1") writeFileSync(file, JSON.stringify(createConfigurationSchema(), null, 2));
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(createConfigurationSchema());
});

type Schema = { readonly properties?: { readonly [name: string]: Schema }; readonly additionalProperties?: false };

test("the schema has each setting, and no other", verifies("CHAT-4#settings"), () => {
  const places = (schema: Schema, path: string): readonly string[] => {
    if (schema.properties === undefined) return [path];
    expect(schema.additionalProperties).toBe(false);
    return Object.entries(schema.properties).flatMap(([name, inner]) =>
      places(inner, path === "" ? name : `${path}.${name}`),
    );
  };
  const all = places(createConfigurationSchema() as Schema, "");
  const others = ["$schema", "permissions.allow", "permissions.ask", "permissions.deny"];
  expect(all.toSorted()).toEqual([...Object.keys(settingTable), ...others].toSorted());
});

test("the guide has a row for each setting", verifies("CHAT-4#settings"), () => {
  const guide = readFileSync("docs/guide/configuration.md", "utf8");
  for (const key of Object.keys(settingTable)) expect(guide).toContain(`\n| \`${key}\` |`);
});

test.each([
  '{ "shell": { "on": "yes" } }',
  '{ "shell": { "sandbox": "none" } }',
  '{ "shell": { "env": ["A=B"] } }',
  '{ "shell": true }',
  '{ "tools": { "off": "x" } }',
  '{ "context": { "files": [] } }',
  '{ "context": { "files": ["../x"] } }',
  '{ "systemPrompt": { "append": " " } }',
])("%s is refused", verifies("CHAT-4#settings"), (text) => {
  expect(() => parseConfiguration("pawl.config.json", text)).toThrow("cannot be used");
});
