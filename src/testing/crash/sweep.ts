/**
 * Sweeps over crashes: one at every point, or one at every pair of points.
 */

/** Plays once, with deaths at these points. @returns the number of points in the play */
export type PlayWithDeaths = (deathPoints: readonly number[]) => Promise<{ readonly points: number }>;

/** Dies at each point once. @returns the number of plays */
export async function sweepSingles(play: PlayWithDeaths, points: number): Promise<number> {
  for (let point = 1; point <= points; point += 1) await play([point]);
  return points;
}

/** Dies at each point, and again at each later point. @returns the number of pairs */
export async function sweepPairs(play: PlayWithDeaths, points: number): Promise<number> {
  let pairs = 0;
  for (let first = 1; first <= points; first += 1) {
    // The number of later points is known after the first play.
    let last = first + 1;
    for (let second = first + 1; second <= last; second += 1) {
      last = (await play([first, second])).points;
      pairs += 1;
    }
  }
  return pairs;
}
