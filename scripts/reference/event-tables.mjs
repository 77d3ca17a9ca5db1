/**
 * The tables of docs/guide/events.md: each public event, delta and item of a stream, with its sentences and fields, as the comments of
 * the code tell them. They stand between the page's markers `<!-- public events: begin -->` and the like.
 */
import { sentenceOf } from "./render.mjs";

/** The unions that the page tells of: the marker, and the type with the name by which a variant is told apart. */
const unions = [
  { marker: "public events", type: "PublicEventBody", key: "type" },
  { marker: "deltas", type: "DeltaBody", key: "kind" },
  { marker: "items", type: "StreamItem", key: "type" },
];

/** The page with its tables made anew. */
export function fillEventTables(text, pages) {
  const symbols = pages.flatMap((page) => [...page.symbols, ...page.others]);
  return unions.reduce((page, { marker, type, key }) => {
    const { members } = symbols.find(({ name }) => name === type);
    const lines = members.flatMap((variant) => rowsOf(variant, key, symbols));
    return replaced(page, marker, lines.join("\n\n"));
  }, text);
}

/** A heading, the sentences and the fields of one variant. A named type is told by its own comment and members. */
function rowsOf(variant, key, symbols) {
  const named = symbols.find(({ name }) => name === variant.title.replace(/<.*$/, ""));
  const { doc, members } = variant.members.length > 0 || named === undefined ? variant : named;
  const name = new RegExp(`^${key}: "([^"]+)"`).exec(members.find((one) => one.name === key)?.title ?? "")?.[1];
  if (name === undefined) return [];
  const fields = members
    .filter((member) => member.name !== key)
    .flatMap((member) => (member.kind === "all" ? fieldsOfNamed(member, symbols) : [member]))
    .map((member) => `- \`${member.title}\`: ${sentenceOf(member)}`);
  return [`### ${name}`, oneLine(doc.text), ...(fields.length === 0 ? [] : [fields.join("\n")])];
}

function fieldsOfNamed({ title }, symbols) {
  return symbols.find(({ name }) => name === title)?.members ?? [];
}

function replaced(text, marker, inner) {
  const begin = `<!-- ${marker}: begin -->`;
  const end = `<!-- ${marker}: end -->`;
  const [before, rest] = split(text, begin);
  const [, after] = split(rest, end);
  return `${before}${begin}\n\n${inner}\n\n${end}${after}`;
}

function split(text, marker) {
  const at = text.indexOf(marker);
  if (at === -1) throw new Error(`docs/guide/events.md has no line ${marker}`);
  return [text.slice(0, at), text.slice(at + marker.length)];
}

function oneLine(text) {
  return text.replace(/\s+/g, " ").trim();
}
