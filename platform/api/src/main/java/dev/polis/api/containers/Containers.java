package dev.polis.api.containers;

import dev.polis.api.contract.Followed;
import dev.polis.base.values.Value;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Controls the container runtime of this node. All methods may be called from any thread.
 * Containers keep running when the service goes away; the next instance of the service adopts them
 * in {@link #start}.
 */
@Followed
@ProviderType
public interface Containers {

  /**
   * Starts or adopts the runtime for a sandbox. It returns at once; {@link #status()} reports the
   * rest. A repeated call that describes the same sandbox changes nothing.
   *
   * @param request the wanted sandbox
   * @throws ContainersException if another request is served; stop that first
   */
  void start(SandboxRequest request);

  /**
   * Ends the containers, the runtime, and the sandbox with its namespaces, mounts, network devices
   * and cgroups, also those of an earlier instance. Images and the data of containers stay on the
   * disk. Does nothing if nothing runs.
   *
   * @throws ContainersException if a part cannot be ended; the message names it
   * @throws InterruptedException if interrupted while waiting
   */
  void stop() throws InterruptedException;

  /** Returns the state of the runtime, which begins with {@link ContainersStatus.Stopped}. */
  Value<ContainersStatus> status();

  /**
   * Loads the images of an archive into the runtime: an OCI layout or the output of {@code docker
   * save}, as a tar.
   *
   * @param archive read to its end, not closed
   * @return the names of the images in the archive
   * @throws ContainersException if the runtime is not running, or refuses the archive; the message
   *     quotes the runtime
   * @throws IOException if the archive cannot be read, or there is no room for it
   * @throws InterruptedException if interrupted; images that are complete stay
   */
  List<String> load(InputStream archive) throws IOException, InterruptedException;

  /**
   * Returns the sorted names of the loaded images.
   *
   * @throws ContainersException if the runtime is not running
   * @throws InterruptedException if interrupted while waiting for the answer
   */
  List<String> images() throws InterruptedException;
}
