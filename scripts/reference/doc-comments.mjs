/** Reads the documentation comments of declarations. */
import ts from "typescript";

/** What is told of a type that has no comment. */
export const noDoc = { text: "", parameters: [], returns: "", throws: [], examples: [] };

/** What is told of a declaration: `{ text, parameters, returns, throws, examples }`. What is absent is empty. */
export function docOf(node) {
  const tags = ts.getJSDocTags(node);
  const comments = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  return {
    text: comments
      .map(({ comment }) => textOf(comment))
      .join("\n\n")
      .trim(),
    parameters: tags
      .filter(ts.isJSDocParameterTag)
      .map(({ name, comment }) => ({ name: name.getText(), text: textOf(comment) })),
    returns: tagged(tags, "returns").join(" "),
    throws: tagged(tags, "throws"),
    examples: tagged(tags, "example").map(codeOf),
  };
}

/** The comment before a variant of a union, which the compiler gives to no declaration. */
export function leadingDocOf(type, before) {
  const file = type.getSourceFile();
  const from = before?.end ?? type.parent.getFullStart();
  const text = file.text.slice(from, type.getStart(file));
  const [, comment = ""] = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*\|?\s*\(?\s*$/.exec(text) ?? [];
  return { ...noDoc, text: comment.replace(/^\s*\* ?/gm, "").trim() };
}

function tagged(tags, name) {
  return tags.filter(({ tagName }) => tagName.text === name).map(({ comment }) => textOf(comment));
}

function textOf(comment) {
  return (ts.getTextOfJSDocComment(comment) ?? "").trim();
}

function codeOf(text) {
  return text.replace(/^```ts\n/, "").replace(/\n```$/, "");
}
