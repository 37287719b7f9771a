//! The models against a simulation and against published figures.

mod published;
mod simulation;
mod simulator;
