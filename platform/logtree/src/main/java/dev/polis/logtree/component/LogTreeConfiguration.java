package dev.polis.logtree.component;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares the configuration of the node's log tree. */
@ObjectClassDefinition(
    name = "Log tree",
    description = "The size of the log in memory, and the rules for printing")
public @interface LogTreeConfiguration {
  /** Newest entries kept of each name. */
  @AttributeDefinition(description = "Newest entries kept of each name", min = "1")
  int entries_per_journal() default 8192;

  /** Mebibytes kept over all names. */
  @AttributeDefinition(description = "Mebibytes kept over all names", min = "1")
  int mebibytes() default 32;

  /** Minutes for which the tree keeps the entries of a name without a log. */
  @AttributeDefinition(
      description = "Minutes for which the node keeps the entries of a vanished name",
      min = "0")
  int minutes_to_live() default 60;

  /** Returns whether the tree also logs standard output and error. */
  @AttributeDefinition(
      description = "Log standard output and error too, as the names stdout and stderr")
  boolean capture_standard_streams() default true;

  /** The device with the messages of the machine's kernel. */
  @AttributeDefinition(
      description =
          "Device whose messages of the kernel are logged as root.kernel, /dev/kmsg on a machine"
              + " of this node alone; empty logs none")
  String kernel() default "";

  /** The printed names and severities; empty prints nothing. */
  @AttributeDefinition(
      description =
          "Least severity printed, by name: \"root.storage=INFO\"; the longest name that fits"
              + " decides, \"=WARNING\" is for all; nothing is printed if there is no rule")
  String[] console() default {};

  /** Width of the terminal for the concise form; 0 for the full form. */
  @AttributeDefinition(
      description = "Width of the terminal, for the concise form; 0 prints the full form",
      min = "0")
  int console_columns() default 0;
}
