/**
 * A plain loop: it asks the model, runs the calls, and saves the messages after each step.
 */
import { askOwner, bank, callModel, readMessages, writeMessages } from "./shop.js";

export async function answer(request: string): Promise<string> {
  const messages = readMessages() ?? [{ role: "user", text: request }];
  while (true) {
    const message = await callModel(messages);
    messages.push(message);
    if (message.calls.length === 0) return message.text;
    for (const call of message.calls) {
      const approved = await askOwner(call.input);
      const output = approved ? await bank.refund(call.input.order, call.id) : "A person denied it.";
      messages.push({ role: "tool", id: call.id, text: output });
    }
    writeMessages(messages);
  }
}
