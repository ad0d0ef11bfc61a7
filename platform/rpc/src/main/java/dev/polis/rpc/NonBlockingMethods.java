package dev.polis.rpc;

import java.util.Set;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Is implemented by a {@code BindableService} some of whose handlers never wait. The listener runs
 * these on the thread that read the request, which saves the change of threads: on an idle machine
 * that is most of the time that a short call takes.
 *
 * <p>Such a handler uses no lock that is held for long, no file and no network, and computes for
 * some tens of microseconds at most, since all connections of its thread wait meanwhile. What takes
 * longer it gives to {@link CallStreams}. It is not interrupted when its caller disconnects.
 */
@ConsumerType
public interface NonBlockingMethods {
  /**
   * Returns the full names of the methods, such as {@code
   * metropolis.proto.api.Management/GetNodes}. A method that changes something is run by a thread
   * of its own nevertheless, because the audit log waits for the disk.
   */
  Set<String> nonBlockingMethods();
}
