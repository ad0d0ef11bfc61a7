package dev.polis.plugins;

import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** Declares what an operator may set of the swap engine. */
@ObjectClassDefinition(id = "dev.polis.plugins", name = "Plugins")
public @interface PluginsConfig {

  /** Folder of the plugin store, such as STATE/plugins. */
  @AttributeDefinition(description = "Folder of the plugin store; the launcher sets it")
  String store();

  /** For how long everything has to be well before a swap counts. */
  @AttributeDefinition(
      description =
          "Milliseconds for which all organs and roles must be healthy before a swap counts",
      min = "0",
      max = "3600000")
  long healthy_ms() default 3_000;

  /** Returns how long a gate waits for that. */
  @AttributeDefinition(
      description = "How long a swap waits for everything to be well, in milliseconds",
      min = "100",
      max = "3600000")
  long deadline_ms() default 60_000;

  /** Returns how long the activation of a bundle may take. */
  @AttributeDefinition(
      description = "How long the activation of a swapped bundle may take, in milliseconds",
      min = "100",
      max = "3600000")
  long start_ms() default 60_000;

  /** Returns how long a bundle may take to stop. */
  @AttributeDefinition(
      description = "How long a swapped bundle may take to stop, in milliseconds",
      min = "100",
      max = "3600000")
  long stop_ms() default 30_000;

  /** Returns how much more heap a swap may take. */
  @AttributeDefinition(
      description =
          "How much more may be alive on the heap than before a swap while its successors are judged, in MiB",
      min = "1",
      max = "1000000")
  int heap_growth_mib() default 32;

  /** Returns how much more memory for classes a swap may take. */
  @AttributeDefinition(
      description =
          "How much more memory the classes may take than before a swap while its successors are judged, in MiB",
      min = "1",
      max = "1000000")
  int metaspace_growth_mib() default 32;

  /** Returns how many threads a swap may add. */
  @AttributeDefinition(
      description =
          "How many more threads there may be than before a swap while its successors are judged",
      min = "1",
      max = "1000000")
  int threads_growth() default 64;

  /** Organs that work only when their predecessors have ended. */
  @AttributeDefinition(
      description = "Organs that are judged only when their predecessors have ended")
  String[] alone() default {};

  /** The digests of the plugin manifests that came with the platform. */
  @AttributeDefinition(
      description =
          "Digests of the plugin manifests that came with the platform; the launcher sets it")
  String[] distribution() default {};

  /** The configurations of the command line. */
  @AttributeDefinition(
      description =
          "The configurations of the command line, \"PID key=value\"; the launcher sets it")
  String[] commandline() default {};
}
