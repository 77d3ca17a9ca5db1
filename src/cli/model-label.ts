/**
 * How a model is called for a person: wherever the demo model's name is shown, it says what it is.
 */
export function modelLabel(id: string): string {
  return id === "demo" ? "demo (demo model, not an LLM)" : id;
}
