/**
 * The model of a day's work: a feature in 60 steps. Each answer depends only on the request's conversation, so it is the same after a kill.
 */
export const parts = 28;
export const request = "Give the report its parts, please.";
export const secondRequest = "Call it overview instead.";
export const steer = "keep the release small";
/** What the model says at some of the steps. Each is on the screen once. */
export const said = [
  "I look around first.",
  "This is what I would do.",
  "The first parts are there.",
  "I measure how long it takes.",
  "That was interrupted. I go on.",
  "Now the release.",
  "The report has its parts.",
  "It is the overview now.",
];

const shell = (command, more = {}) => ({ name: "shell", input: { command, ...more } });
const write = (path, content) => ({ name: "write_file", input: { path, content } });
const read = (path) => ({ name: "read_file", input: { path } });
const edit = (path, oldText, newText) => ({ name: "edit_file", input: { path, oldText, newText } });

/** As the model writes it, and as the hook formats it. */
export const partText = (part) => `export  const  part${part}  =  ${part};   \n`;
export const formattedPart = (part) => `export const part${part} = ${part};\n`;

/** The commands, each of which writes its line into the journal. */
export const journal = [
  ...Array.from({ length: parts }, (_, index) => `part ${index + 1}`),
  "measured",
  "measured again",
  "outside",
  "released",
];
const note = (line) => `echo ${line} >> journal`;

/** Writes a part, and loads it. */
function partSteps(from, to) {
  const steps = [];
  for (let part = from; part <= to; part += 1)
    steps.push(
      { calls: [write(`src/parts/part-${part}.mjs`, partText(part))] },
      { calls: [shell(`${note(`part ${part}`)}; node src/parts/part-${part}.mjs`)] },
    );
  return steps;
}

const steps = [
  { text: said[0], calls: [{ name: "search_files", input: { text: "TODO" } }, read("src/report.mjs")] },
  { calls: [{ name: "agent_scout", input: { task: "Find what prints the report." } }] },
  {
    text: said[1],
    calls: [{ name: "finish_plan", input: { steps: ["Write the parts.", "Test them.", "Release them."] } }],
  },
  { calls: [{ name: "agent_checker", input: { task: "Write a test of the parts.", background: true } }] },
  ...partSteps(1, 8),
  {
    text: said[2],
    calls: [shell("echo outside >> journal; echo outside >> ../outside", { outside: true, why: "A folder above." })],
  },
  ...partSteps(9, 16),
  { text: said[3], calls: [shell(`${note("measured")}; sleep 600; ${note("never")}`)] },
  { text: said[4], calls: [shell(note("measured again"))] },
  ...partSteps(17, parts),
  { text: said[5], calls: [shell("sh release.sh")] },
  { calls: [edit("src/report.mjs", "// TODO", "//  parts  ")] },
  { text: said[6] },
  // The second request.
  { calls: [edit("src/report.mjs", "report", "overview")] },
  { text: said[7] },
];

/** The agents, by a sentence of their system prompts. */
const agents = {
  scout: [
    { calls: [read("src/report.mjs")] },
    { calls: [{ name: "search_files", input: { text: "console.log" } }] },
    { text: "src/report.mjs prints it." },
  ],
  checker: [
    { calls: [read("src/report.mjs")] },
    { calls: [write("test/parts.test.mjs", "import  '../src/report.mjs';  \n")] },
    { calls: [shell("echo checked >> checked; node test/parts.test.mjs")] },
    { text: "The test is written." },
  ],
};

export const agentFiles = Object.fromEntries(
  Object.keys(agents).map((name) => [
    `.pawl/agents/${name}.md`,
    `---\ndescription: The ${name} of this folder.\n---\nYou are the ${name}.\n`,
  ]),
);

/** The agent whose conversation a request is; null for the session's. */
export function agentOf({ system }) {
  const prompt = JSON.stringify(system);
  return Object.keys(agents).find((name) => prompt.includes(`You are the ${name}.`)) ?? null;
}

/** @returns the answers by request, and how many steps the session has taken */
export function createModel() {
  let onBuilt = () => {};
  // The agent in the background is at work until half of the parts are written.
  const built = new Promise((done) => {
    onBuilt = done;
  });
  return async (_, body) => {
    const name = agentOf(body);
    const taken = body.messages.filter(({ role }) => role === "assistant");
    if (name !== null) {
      const step = agents[name][taken.length];
      if (name === "checker" && step.calls === undefined) await built;
      return step;
    }
    const reads = taken.filter(({ content }) => JSON.stringify(content).includes('"read_agent"'));
    const step = taken.length - reads.length;
    if (step === parts) onBuilt();
    const conversation = JSON.stringify(body.messages);
    const ended = /as (\w+), has ended/.exec(conversation);
    if (ended !== null && reads.length === 0) return { calls: [{ name: "read_agent", input: { agent: ended[1] } }] };
    return steps[step] ?? { text: "Nothing is left." };
  };
}
