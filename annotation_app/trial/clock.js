// Time by the screen's frames: when a picture was on it, and for how many frames it stays.

export function nextFrame(frames = requestAnimationFrame) {
  return new Promise((resolve) => frames(resolve));
}

// The time of the second frame after now: by then what was put into the document has been painted.
export async function painted(frames = requestAnimationFrame) {
  await nextFrame(frames);
  return nextFrame(frames);
}

export async function skipFrames(count, frames = requestAnimationFrame) {
  let time = 0;
  for (let index = 0; index < count; index += 1) time = await nextFrame(frames);
  return time;
}

// How long a frame is, in ms: the median, since a page that has just come up drops a few.
export async function measureFrameMs(count = 20, frames = requestAnimationFrame) {
  const times = [];
  for (let index = 0; index <= count; index += 1) times.push(await nextFrame(frames));
  const steps = times.slice(1).map((time, index) => time - times[index]).sort((a, b) => a - b);
  return steps[Math.floor(steps.length / 2)];
}

export function frameCount(ms, frameMs) {
  return ms > 0 ? Math.max(1, Math.round(ms / frameMs)) : 0;
}

// Fixation, stimulus, mask, each for its number of frames: a stage is put up in one frame's callback and replaced in
// that of `count` frames later. show(stage) changes the screen; alive() says whether the trial still runs. Returns when
// the stimulus was painted and whether a frame was dropped meanwhile, or null where the trial was given up.
export async function expose(exposure, frameMs, show, alive, frames = requestAnimationFrame) {
  const stages = [["fixation", exposure.fixation_ms], ["stimulus", exposure.stimulus_ms], ["mask", exposure.mask_ms]];
  let onset = null;
  let dropped = false;
  let now = await nextFrame(frames);
  for (const [stage, ms] of stages) {
    const count = frameCount(ms, frameMs);
    if (count === 0) continue;
    if (!alive()) return null;
    const began = now;
    show(stage);
    now = await nextFrame(frames);
    if (stage === "stimulus") onset = now;
    if (count > 1) now = await skipFrames(count - 1, frames);
    if (stage === "stimulus") dropped = Math.abs(now - began - count * frameMs) > 0.75 * frameMs;
  }
  if (!alive()) return null;
  show("response");
  return { onset, dropped };
}
