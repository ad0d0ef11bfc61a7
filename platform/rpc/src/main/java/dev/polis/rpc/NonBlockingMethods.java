package dev.polis.rpc;

import java.util.Set;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Marks a {@code BindableService} that has handlers which never wait. The listener runs these
 * handlers on the thread that read the request. This saves the change of threads, which takes most
 * of the time of a short call on an idle machine.
 *
 * <p>Such a handler uses no lock that is held for long, no file and no network, and computes for
 * some tens of microseconds at most, since all connections of its thread wait meanwhile. It gives
 * longer work to {@link CallStreams}. The listener does not interrupt it when its caller
 * disconnects.
 */
@ConsumerType
public interface NonBlockingMethods {
  /**
   * Returns the full names of the methods, such as {@code
   * metropolis.proto.api.Management/GetNodes}. A method that changes something still runs on its
   * own thread, because the audit log waits for the disk.
   */
  Set<String> nonBlockingMethods();
}
