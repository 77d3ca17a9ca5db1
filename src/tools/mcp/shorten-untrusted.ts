/**
 * Text of a server that people or the model read.
 */
import { showHidden } from "../../core/data/hidden-characters.js";

/** Makes hidden characters visible, and cuts the text after `maxCharacters`. */
export function shortenUntrusted(text: string, maxCharacters: number): string {
  const shown = showHidden(text.slice(0, maxCharacters + 1));
  return shown.length > maxCharacters ? `${shown.slice(0, maxCharacters)} … (cut)` : shown;
}
