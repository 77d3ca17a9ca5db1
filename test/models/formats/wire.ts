/**
 * What the formats share: server-sent events, and text in pieces.
 */
import type { ScriptedAnswer, ScriptedCall } from "../provider-server.js";

export function event(data: unknown, name?: string): string {
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** A text as a model writes it: a few characters at a time. */
export function pieces(text: string): readonly string[] {
  const characters = [...text];
  const parts: string[] = [];
  for (let at = 0; at < characters.length; at += 5) parts.push(characters.slice(at, at + 5).join(""));
  return parts;
}

export function argumentsOf(call: ScriptedCall): string {
  return typeof call.input === "string" ? call.input : JSON.stringify(call.input);
}

export function idOf(call: ScriptedCall, prefix: string, turn: number, index: number): string {
  return call.id ?? `${prefix}${turn}_${index}`;
}

export function usageOf(answer: ScriptedAnswer): Required<NonNullable<ScriptedAnswer["usage"]>> {
  return { input: 0, output: 0, cached: 0, reasoning: 0, ...answer.usage };
}
