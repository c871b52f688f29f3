#!/bin/sh
# Runs the gate against a server that is not there: boardings wait in the queue.
gate -server http://localhost:9 -key testdata/public.pem
