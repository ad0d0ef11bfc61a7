package dev.polis.api.containers;

import dev.polis.api.contract.Followed;
import dev.polis.base.values.Value;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The container runtime of this node. All methods may be called from any thread. What was started
 * keeps running when the service goes away; the next instance of the service adopts it in {@link
 * #start}.
 */
@Followed
@ProviderType
public interface Containers {

  /**
   * Begins to make the runtime run as wanted, or adopts the one that runs. It returns at once;
   * {@link #status()} reports the rest. A repeated call that describes the same sandbox changes
   * nothing.
   *
   * @param request where and how
   * @throws ContainersException if another request is served; stop that first
   */
  void start(SandboxRequest request);

  /**
   * Ends everything, also what an earlier instance left running: containers, the runtime, and the
   * sandbox with its namespaces, mounts, network devices and cgroups. Images and the data of
   * containers stay on the disk. Does nothing if nothing runs.
   *
   * @throws ContainersException if something cannot be ended; the message names it
   * @throws InterruptedException if interrupted while waiting
   */
  void stop() throws InterruptedException;

  /**
   * Returns what the runtime does; never empty, the first value is {@link
   * ContainersStatus.Stopped}.
   */
  Value<ContainersStatus> status();

  /**
   * Takes the images of an archive into the runtime: an OCI layout or what {@code docker save}
   * writes, as a tar.
   *
   * @param archive read to its end, not closed
   * @return the names of the images, as the archive gives them
   * @throws ContainersException if the runtime is not running, or refuses the archive; the message
   *     holds its words
   * @throws IOException if the archive cannot be read, or there is no room for it
   * @throws InterruptedException if interrupted; images that are complete stay
   */
  List<String> load(InputStream archive) throws IOException, InterruptedException;

  /**
   * Returns the names of the images that are there, sorted.
   *
   * @throws ContainersException if the runtime is not running
   * @throws InterruptedException if interrupted while waiting for the answer
   */
  List<String> images() throws InterruptedException;
}
