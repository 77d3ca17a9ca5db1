/**
 * Splits long text, so that keys are handled between its pieces.
 */
import { endsInHalfPair } from "../../terminal/surrogate-pairs.js";

/** The maximum length of a piece; characters. Rendering one takes a millisecond or two. */
const maxInPiece = 2_048;

/** Splits text into short pieces, at line breaks if possible, and never within a surrogate pair. */
export function* splitIntoPieces(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const candidate = text.slice(start, start + maxInPiece);
    const isWhole = start + candidate.length === text.length;
    const length = isWhole
      ? candidate.length
      : candidate.lastIndexOf("\n") + 1 || candidate.length - (endsInHalfPair(candidate) ? 1 : 0);
    yield candidate.slice(0, length);
    start += length;
  }
}
