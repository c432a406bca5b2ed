// What Streamlit calls: one loop for each place on the page, started again only where the tab or the mode changed.

import { TrialLoop } from "./loop.js";

const loops = new WeakMap();

export function mount(component) {
  const { data, parentElement, setTriggerValue } = component;
  const key = `${data.session_id} ${data.mode}`;
  const report = (reason) => setTriggerValue("outcome", { reason, at: Date.now() });
  const present = loops.get(parentElement);
  if (present?.key === key) {
    present.loop.report = report; // the page ran again: nothing on the screen changes
  } else {
    present?.loop.stop();
    const loop = new TrialLoop(parentElement.querySelector(".trial"), data, report);
    loops.set(parentElement, { key, loop });
    loop.start();
  }
  return () => {
    loops.get(parentElement)?.loop.stop();
    loops.delete(parentElement);
  };
}
