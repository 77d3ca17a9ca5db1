/**
 * The text format of Prometheus (0.0.4), read strictly: what breaks a rule of the format throws.
 */

export type Sample = {
  readonly name: string;
  readonly labels: { readonly [name: string]: string };
  readonly value: number;
};

export type MetricFamily = {
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
};

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/s;
const labelText = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y;

/** @throws Error for a text that is not of the format */
export function parsePrometheus(text: string): ReadonlyMap<string, MetricFamily> {
  if (!text.endsWith("\n")) throw new Error("The last line has no end.");
  const families = new Map<string, { type: string; help: string; samples: Sample[] }>();
  const seen = new Set<string>();
  let help: { readonly name: string; readonly text: string } | null = null;
  let last: string | null = null;
  for (const line of text.slice(0, -1).split("\n")) {
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword === "HELP") {
      if (!metricName.test(name)) throw new Error(`Bad name: ${line}`);
      help = { name, text: rest };
    } else if (keyword === "TYPE") {
      if (families.has(name)) throw new Error(`${name} has two types.`);
      if (help?.name !== name) throw new Error(`${name} has no help right before its type.`);
      if (!["counter", "gauge", "histogram"].includes(rest)) throw new Error(`Bad type: ${line}`);
      families.set(name, { type: rest, help: help.text, samples: [] });
      last = name;
    } else {
      const sample = parseSample(line);
      const family = last === null ? undefined : families.get(last);
      if (family === undefined || last === null) throw new Error(`A sample before its type: ${line}`);
      const suffix = sample.name.slice(last.length);
      const suffixes = family.type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
      if (!sample.name.startsWith(last) || !suffixes.includes(suffix)) throw new Error(`Not of ${last}: ${line}`);
      const key = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
      if (seen.has(key)) throw new Error(`Twice: ${line}`);
      seen.add(key);
      family.samples.push(sample);
    }
  }
  for (const [name, { type, samples }] of families) {
    if ((type === "counter") !== name.endsWith("_total")) throw new Error(`${name} is a ${type}.`);
    if (type === "histogram") checkHistogram(name, samples);
  }
  return families;
}

function parseSample(line: string): Sample {
  const [, name = "", labelled = "", number = ""] = sampleLine.exec(line) ?? [];
  if (name === "" || (number !== "+Inf" && !/^[0-9.e+-]+$/.test(number))) throw new Error(`Bad sample: ${line}`);
  const labels: { [name: string]: string } = {};
  labelText.lastIndex = 0;
  while (labelText.lastIndex < labelled.length) {
    const [, label, value = ""] = labelText.exec(labelled) ?? [];
    if (label === undefined || label in labels) throw new Error(`Bad labels: ${line}`);
    labels[label] = value.replace(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter));
  }
  return { name, labels, value: Number(number) };
}

function checkHistogram(name: string, samples: readonly Sample[]): void {
  const counts = samples.filter((sample) => sample.name === `${name}_count`);
  for (const { labels, value } of counts) {
    const hasSameLabels = (other: Sample) =>
      Object.entries(labels).every(([label, expected]) => other.labels[label] === expected);
    const buckets = samples.filter((sample) => sample.name === `${name}_bucket` && hasSameLabels(sample));
    const bounds = buckets.map((bucket) => Number((bucket.labels.le ?? "").replace("+Inf", "Infinity")));
    if (bounds.some((bound, index) => !(bound > (bounds[index - 1] ?? Number.NEGATIVE_INFINITY))))
      throw new Error(`The bounds of ${name} do not ascend.`);
    if (buckets.some((bucket, index) => bucket.value < (buckets[index - 1]?.value ?? 0)))
      throw new Error(`The buckets of ${name} are not cumulative.`);
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || buckets.at(-1)?.value !== value)
      throw new Error(`The last bucket of ${name} is not its count.`);
    if (samples.filter((sample) => sample.name === `${name}_sum` && hasSameLabels(sample)).length !== 1)
      throw new Error(`${name} has no sum.`);
  }
}

/** The value of the one sample with this name and these labels; undefined if there is none. */
export function findSampleValue(
  families: ReadonlyMap<string, MetricFamily>,
  name: string,
  labels: { readonly [name: string]: string } = {},
): number | undefined {
  const matches = [...families.values()]
    .flatMap(({ samples }) => samples)
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value));
  if (matches.length > 1) throw new Error(`${name} ${JSON.stringify(labels)} has ${matches.length} samples.`);
  return matches[0]?.value;
}
