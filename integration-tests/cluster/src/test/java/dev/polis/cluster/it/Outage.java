package dev.polis.cluster.it;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;

/** Ends nodes at a step of a change, and keeps their disks for their next start. */
interface Outage {

  /** Returns the state directory of a new node, which does not exist yet. */
  Path state(String name) throws Exception;

  /** Accepts the files that a node has before its first start. */
  void prepared(TestNode node) throws Exception;

  /** Returns the option of a JVM that ends at a report that a file names. */
  String agent(TestNode node, Path point, Collection<String> methods) throws IOException;

  /** Completes the end of a node whose JVM has ended; returns its extent, for people. */
  String ended(TestNode node) throws Exception;

  /** Ends a node for good. */
  void remove(TestNode node) throws Exception;
}
