package dev.polis.consensus;

/** Moments of a start at which the node may die; tests kill it there. */
enum ConsensusStep {
  /** The record says that a bootstrap has begun, or that there is a member. */
  RECORDED,
  /** The CA and what etcd shows are on the disk. */
  KEYS_WRITTEN,
  /** The process runs, or is adopted. */
  STARTED,
  /** It has answered. */
  READY,
  /** Users and roles are there, authentication is on. */
  USERS_MADE,
  /** The CA is in etcd, for later members. */
  AUTHORITY_STORED
}
