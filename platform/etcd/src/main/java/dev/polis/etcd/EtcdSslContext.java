package dev.polis.etcd;

import io.netty.handler.ssl.DelegatingSslContext;
import io.netty.handler.ssl.SslContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;

/**
 * Restricts key agreement to X25519. Without this limit, Java's TLS would also make a P-256 key
 * pair for each connection, in case the other side lacks X25519, and tables for P-256 before the
 * first one. Each etcd has X25519, except in Go's FIPS 140 mode, which refuses it.
 */
final class EtcdSslContext extends DelegatingSslContext {
  private static final String[] GROUPS = {"x25519"};

  EtcdSslContext(SslContext context) {
    super(context);
  }

  @Override
  protected void initEngine(SSLEngine engine) {
    SSLParameters parameters = engine.getSSLParameters();
    parameters.setNamedGroups(GROUPS);
    engine.setSSLParameters(parameters);
  }
}
