/**
 * Converts messages of A2A: to the input of a run, and to the answer to a waiting call.
 */
import type * as Sdk from "@a2a-js/sdk";
import { type ApprovalDecision, type Input, PawlError, type PendingApproval, type UserPart } from "../../index.js";
import { findAnswerChoice } from "../../view/question-choices.js";
import { toDecision } from "../approval-forms.js";
import { createFormSchema, textAnswer } from "../question-form.js";

/** @throws PawlError `bad_input` */
export function toInput({ parts }: Sdk.Message): Input {
  if (parts.length === 0) throw new PawlError("bad_input", "The message has no parts.");
  return [{ role: "user", parts: parts.map(toUserPart) }];
}

function toUserPart({ content, mediaType }: Sdk.Part): UserPart {
  switch (content?.$case) {
    case "text":
      return { type: "text", text: content.value };
    case "data":
      return { type: "text", text: JSON.stringify(content.value) };
    case "url":
      return { type: "file", mediaType: mediaType || anyMediaType, data: content.value };
    case "raw":
      return { type: "file", mediaType: mediaType || anyMediaType, data: content.value.toString("base64") };
    case undefined:
      throw new PawlError("bad_input", "A part of the message has no text, data, url or raw.");
  }
}

const anyMediaType = "application/octet-stream";

/**
 * The decision of a message about the question that it answers. A data part has the fields of the question's form. Text is the
 * answer to a tool that asks for text; for an approval, everything but a plain yes is a no, with the text as its note.
 * @throws PawlError `bad_input`
 */
export function readDecision({ parts, metadata }: Sdk.Message, asked: PendingApproval): ApprovalDecision {
  const decision = toDecision(
    metadata?.action === "decline"
      ? { action: "decline" }
      : { action: "accept", content: findData(parts) ?? toContent(readText(parts), asked) },
    asked,
  );
  if (decision !== null) return decision;
  throw new PawlError("bad_input", `The answer to ${asked.name} cannot be read. Answer done, failed or again.`);
}

function findData(parts: readonly Sdk.Part[]): object | undefined {
  for (const { content } of parts)
    if (content?.$case === "data" && typeof content.value === "object" && content.value !== null) return content.value;
  return undefined;
}

function readText(parts: readonly Sdk.Part[]): string {
  return parts
    .flatMap(({ content }) => (content?.$case === "text" ? [content.value] : []))
    .join("\n")
    .trim();
}

/** The fields of the form that a text stands for. @throws PawlError `bad_input` */
function toContent(text: string, asked: PendingApproval): object {
  switch (asked.why) {
    case "policy":
    case "provider":
      return isYes(text) ? { decision: "allow" } : { decision: "deny", note: text };
    case "recovery": {
      const [, word = "", note = ""] = /^(\w*)[\s:,.]*([\s\S]*)$/.exec(text) ?? [];
      const choice = findAnswerChoice(asked.why, word.toLowerCase());
      return choice === undefined ? {} : { decision: choice.name, note };
    }
    case "tool":
    case "external": {
      const content = textAnswer(text, asked);
      if (content !== null) return content;
      const schema = JSON.stringify(createFormSchema(asked));
      throw new PawlError(
        "bad_input",
        `${asked.name} needs an answer with fields. Send a data part that fits ${schema}.`,
      );
    }
  }
}

/** A sentence that begins with yes may go on with a condition, so it is a no. */
function isYes(text: string): boolean {
  return /^(?:y|yes|allow|approve|approved)[.!]?$/i.test(text);
}
