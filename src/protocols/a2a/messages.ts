/**
 * Converts A2A messages to the input of a run, or to the answer to a waiting call.
 */
import type * as Sdk from "@a2a-js/sdk";
import { type ApprovalDecision, type Input, PawlError, type PendingApproval, type UserPart } from "../../index.js";
import { findAnswerChoice } from "../../view/question-choices.js";
import { toDecision } from "../approval-forms.js";
import { createFormSchema, textAnswer } from "../question-form.js";

/** @throws PawlError `bad_input` */
export function toInput({ parts }: Sdk.Message): Input {
  if (parts.length === 0) throw new PawlError("bad_input", "The message has no parts. Send at least one.");
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
      throw new PawlError("bad_input", "A part of the message has no content: send text, data, url or raw.");
  }
}

const anyMediaType = "application/octet-stream";

/**
 * Reads the decision that a message makes about a question. A data part contains the fields of the question's form. Text answers a
 * tool that asks for text; for an approval, any text but a plain yes is a denial with the text as its note.
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
  throw new PawlError("bad_input", `Invalid answer to ${asked.name}: expected done, failed or again.`);
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

/** Converts a text answer to the fields of the form. @throws PawlError `bad_input` */
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
        `The answer to ${asked.name} must have fields. Send a data part that fits ${schema}.`,
      );
    }
  }
}

/** Accepts only a plain yes: a sentence that begins with yes may continue with a condition. */
function isYes(text: string): boolean {
  return /^(?:y|yes|allow|approve|approved)[.!]?$/i.test(text);
}
