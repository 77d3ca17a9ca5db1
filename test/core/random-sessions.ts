/** Sessions by chance, as fast-check draws them. */
import fc from "fast-check";
import { type Chance, createChance } from "./chance.js";
import { createEventSource } from "./random-events.js";
import { appendEvent, createSession, type Session } from "./session.js";

/** Sessions that went through up to so many random events, of which few are out of place; and the chance that drew them, to go on with. */
export function randomSessions(
  mostEvents: number,
): fc.Arbitrary<{ readonly session: Session; readonly chance: Chance }> {
  return fc
    .record({
      seed: fc.integer(),
      length: fc.integer({ min: 0, max: mostEvents }),
      chaos: fc.constantFrom(3, 20, 1_000),
    })
    .map(({ seed, length, chaos }) => {
      const chance = createChance(seed);
      const source = createEventSource(chance);
      const session = createSession();
      for (let count = 0; count < length; count += 1) {
        session.at += chance.below(200);
        appendEvent(session, chance.oneIn(chaos) ? source.any(session) : source.plausible(session));
      }
      return { session, chance };
    });
}
