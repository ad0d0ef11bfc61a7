package dev.polis.process;

/** Moments during a start at which the node may die; tests kill it there. */
enum StartStep {
  INTENT_WRITTEN,
  SPAWNED,
  RECORDED
}
