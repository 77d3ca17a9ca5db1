/**
 * Which crashes there are to try: one at every point, and every pair of points.
 */

/** Plays once, with deaths at these points; tells how many points there were. */
export type PlayAt = (dies: readonly number[]) => Promise<{ readonly points: number }>;

/** Dies at each point once. Gives the number of plays. */
export async function sweepSingles(play: PlayAt, points: number): Promise<number> {
  for (let point = 1; point <= points; point += 1) await play([point]);
  return points;
}

/** Dies at each point, and again at each that follows it in the lives after. Gives the number of pairs. */
export async function sweepPairs(play: PlayAt, points: number): Promise<number> {
  let pairs = 0;
  for (let first = 1; first <= points; first += 1) {
    // How many points follow is known once the first pair has been played to its end.
    let last = first + 1;
    for (let second = first + 1; second <= last; second += 1) {
      last = (await play([first, second])).points;
      pairs += 1;
    }
  }
  return pairs;
}
