/**
 * A model's name for a person. The demo model always shows that it is not an LLM.
 */
export function formatModel(id: string): string {
  return id === "demo" ? "demo (demo model, not an LLM)" : id;
}
