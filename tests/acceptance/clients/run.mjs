// A public AG-UI client, driven line by line: `node run.mjs CLIENT URL`.
//
// Each line of stdin is a turn, each line of stdout is what the client made of it. So a turn can answer a tool call or
// an interrupt of the one before, whose identifiers nobody knows in advance. A turn is an object; no key is required:
//   conversation        which one it belongs to; each has an agent, and so a thread, of its own
//   messages            added to the conversation before the run
//   state               the shared state to send, instead of the one that the client holds
//   url                 where the conversation goes on: the server was started anew
//   run                 the parameters of runAgent: runId, tools, context, forwardedProps, resume
//   cancelAfterEvents   ask the server to stop the run when this many events have come
//   abortAfterEvents    close the connection when this many events have come

import { createInterface } from "node:readline";

const TURN_LIMIT_MS = 20_000;

const [client, url] = process.argv.slice(2);
const { HttpAgent } = await import(client);
const agents = {};
let warnings = [];
console.warn = console.error = (...said) => warnings.push(said.map(String).join(" "));

async function cancel(runId) {
  const response = await fetch(new URL(`/v1/runs/${runId}/cancel`, url), { method: "POST" });
  return response.json();
}

async function play(turn) {
  const agent = (agents[turn.conversation] ??= new HttpAgent({ url }));
  const report = { events: [], warnings: (warnings = []) };
  let cancelled;

  const subscriber = {
    onEvent({ event, input }) {
      report.events.push(event);
      // Not awaited: the client goes on reading while the server stops the run.
      if (report.events.length === turn.cancelAfterEvents) cancelled = cancel(input.runId);
      if (report.events.length === turn.abortAfterEvents) agent.abortRun();
    },
    onRunFinishedEvent({ outcome, result, interrupts, pendingToolCallIds }) {
      report.finished = { outcome, result, interrupts, pendingToolCallIds };
    },
  };

  if (turn.url !== undefined) agent.url = turn.url;
  if (turn.state !== undefined) agent.setState(turn.state);
  agent.addMessages(turn.messages ?? []);
  try {
    const { result, newMessages } = await agent.runAgent(turn.run, subscriber);
    Object.assign(report, { result, newMessages });
  } catch (thrown) {
    report.error = String(thrown);
  }
  const { threadId, messages, state, pendingInterrupts } = agent;
  return { ...report, threadId, messages, state, pendingInterrupts, cancelled: await cancelled };
}

for await (const line of createInterface({ input: process.stdin })) {
  // A client that waits forever would hang the tests; uncaught, this ends the process and says why.
  const limit = setTimeout(() => { throw new Error(`no end of the run: ${line}`); }, TURN_LIMIT_MS);
  const report = await play(JSON.parse(line));
  clearTimeout(limit);
  process.stdout.write(JSON.stringify(report) + "\n");
}
