package dev.polis.process;

/** Names the steps of a start at which the node may die. */
enum StartStep {
  INTENT_WRITTEN,
  SPAWNED,
  RECORDED
}
